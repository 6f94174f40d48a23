import { z } from 'zod';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import type { Principal } from '../auth/directory.ts';
import type { ExchangeAccount } from '../exchange/exchange-order.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import type { StreamProtocol } from '../stream/stream-server.ts';
import type { StreamSession } from '../stream/stream-session.ts';
import { accountOfKeys } from './api-keys.ts';

const authenticate = z.object({
  action: z.enum(['authenticate', 'auth']),
  data: z.object({ key_id: z.string(), secret_key: z.string() }),
});
const listen = z.object({ action: z.literal('listen'), data: z.object({ streams: z.array(z.string()) }) });
const topic = 'trade_updates';

/** Every client may connect, and authenticates afterwards. */
const nameless: Principal = {
  clientId: '',
  scopes: new Set(),
  tokenId: '',
  expiresAtMs: Number.POSITIVE_INFINITY,
};

/**
 * Alpaca's `trade_updates`: authenticate, listen, then one frame for each event. Frames are binary
 * with JSON in them, as on the paper host. It has no heartbeat, no sequence and no replay.
 */
export function alpacaProtocol(parts: SandboxParts): StreamProtocol {
  const accounts = new WeakMap<StreamSession, ExchangeAccount>();
  const authorize = (session: StreamSession, { key_id, secret_key }: z.infer<typeof authenticate>['data']) => {
    const account = accountOfKeys(parts.exchange, key_id, secret_key);
    const status = account === undefined ? 'unauthorized' : 'authorized';
    if (account !== undefined) accounts.set(session, account);
    note(parts, session, status, account?.id ?? '');
    session.sendMessage({ stream: 'authorization', data: { status, action: 'authenticate' } });
  };
  return {
    path: '/stream',
    opcode: 2,
    heartbeat: undefined,
    slowConsumer: undefined,
    admit: async () => nameless,
    answer: (session, data) => {
      const message = jsonOrUndefined(data.toString('utf8'));
      const auth = authenticate.safeParse(message);
      if (auth.success) return authorize(session, auth.data.data);
      const asked = listen.safeParse(message);
      const account = accounts.get(session);
      if (!asked.success) session.sendMessage({ action: 'error', data: { error_message: 'invalid message' } });
      else if (account === undefined)
        session.sendMessage({ stream: 'authorization', data: { status: 'unauthorized', action: 'listen' } });
      else follow(parts, session, account.id, asked.data.data.streams.includes(topic));
    },
  };
}

/** Each `listen` names all streams that the connection has from now on. */
function follow(parts: SandboxParts, session: StreamSession, accountId: string, listens: boolean): void {
  const { subscriptions, eventFaults } = parts;
  const acknowledge = () => {
    session.sendMessage({ stream: 'listening', data: { streams: listens ? [topic] : [] } });
    if (listens) subscriptions.add(session, 'account', accountId);
    else subscriptions.remove(session, 'account', accountId);
    note(parts, session, listens ? 'subscribed' : 'unsubscribed', accountId);
  };
  if (!listens) acknowledge();
  else
    eventFaults.subscribe(session, 'account', accountId, {
      refuse: () => session.sendMessage({ action: 'error', data: { error_message: 'not permitted' } }),
      ignore: () => note(parts, session, 'not_acknowledged', accountId),
      follow: acknowledge,
    });
}

function note({ ledger }: SandboxParts, session: StreamSession, what: string, accountId: string): void {
  ledger.enter('session', { session: session.number, what, accountId });
}

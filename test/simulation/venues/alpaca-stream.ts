import { keysOf } from '../../../src/sandbox/alpaca/api-keys.ts';
import type { ExchangeAccount } from '../../../src/sandbox/exchange/exchange-order.ts';
import { happens } from '../../../src/sandbox/market/instruments.ts';
import type { Spoil } from '../plan/garbage.ts';
import type { MemorySocket } from '../world/memory-socket.ts';
import type { SimulatedStream } from './simulated-venue.ts';

/** The stream of the accounts here. */
export const alpacaName = 'alpaca_paper';

const topic = 'trade_updates';
const listening = (streams: readonly string[]) => JSON.stringify({ stream: 'listening', data: { streams } });
const authorization = (status: string, action: string) =>
  JSON.stringify({ stream: 'authorization', data: { status, action } });

/** By session: the account of its key pair. */
const accounts = new WeakMap<MemorySocket, ExchangeAccount>();

/**
 * Events that are not what they were: cut, of no known kind, without an order, or with a field that
 * nothing can be made of.
 */
export const alpacaSpoils: readonly Spoil[] = [
  (event) => event.slice(0, event.length >> 1),
  () => 'null',
  () => '[]',
  () => '<html><body>502 Bad Gateway</body></html>',
  (event) => event.replace('"stream":"trade_updates"', '"stream":"trade_updatez"'),
  (event) => event.replace(/"order":\{.*\}\}\}$/, '"order":null}}'),
  (event) => event.replace(/"filled_qty":"[^"]*"/, '"filled_qty":"1e400"'),
  (event) => event.replace(/"filled_qty":"[^"]*"/, '"filled_qty":"12,5"'),
  (event) => event.replace(/"updated_at":"[^"]*"/, '"updated_at":"2026-02-30T00:00:00Z"'),
  (event) => event.replace(/"order":(\{.*?)"qty":"[^"]*"/, '"order":$1"qty":null'),
  (event) => event.replace(/"status":"[^"]*"/, '"status":null'),
  (event) => event.replace(/"asset_class":"[^"]*"/, '"asset_class":"us_treasury"'),
  // The memory database takes it for a text that Postgres refuses.
  (event) => event.replace(/"client_order_id":"[^"]*"/, '"client_order_id":"POISON"'),
];

/** Authenticate, listen, events. No frame names its account, and there is no heartbeat. */
export const alpacaStream: SimulatedStream = {
  heartbeat: undefined,
  endsSubscriptions: true,
  admits: () => true,
  isGood: (_socket, tokens) => !tokens.loginRequired,
  asked: (socket, text, { tokens, account }) => {
    const { action, data } = JSON.parse(text) as {
      action: string;
      data: { key_id: string; secret_key: string; streams: readonly string[] };
    };
    if (action === 'authenticate') {
      const found = account(data.key_id.slice(2));
      const isGood = found !== undefined && keysOf(found).secretKey === data.secret_key && !tokens.loginRequired;
      if (isGood) accounts.set(socket, found);
      return { signsIn: true, answer: authorization(isGood ? 'authorized' : 'unauthorized', 'authenticate') };
    }
    const of = accounts.get(socket);
    if (of === undefined) return { answer: authorization('unauthorized', 'listen') };
    const name = `${alpacaName}:${of.id}`;
    return data.streams.includes(topic)
      ? { joins: name, answer: listening([topic]) }
      : { leaves: name, answer: listening([]) };
  },
  declined: (random) => (happens(random, 0.5) ? listening([]) : undefined),
  // A frame of another account could not be told from its own. The venue ends a subscription.
  intrude: (socket, name) => {
    socket.subscribed.delete(name);
    socket.push(listening([]));
  },
  expel: (socket) => {
    if (socket.subscribed.size > 0) socket.push(authorization('unauthorized', 'listen'));
    socket.endBy({ kind: 'closed', code: 1000, reason: '' }, false);
  },
  spoils: alpacaSpoils,
};

import type { StreamTopic } from '../../venue/platform/wire/stream-messages.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import type { StreamSession } from '../stream/stream-session.ts';
import type { FaultAction } from './fault-shapes.ts';
import type { Uncertainty } from './uncertainty.ts';

export interface ActionDeps {
  readonly parts: SandboxParts;
  readonly uncertainty: Uncertainty;
}

/**
 * Does one fault at once. Answers with how many connections, tokens or orders it met; undefined
 * when it names an account that isn't there.
 */
export function actNow({ parts, uncertainty }: ActionDeps, action: FaultAction): number | undefined {
  const { eventFaults, tokens } = parts;
  switch (action.action) {
    case 'cut':
      return onSessions(parts, action, (session) => session.cut(action.how));
    case 'half_open':
      return onSessions(parts, action, (session) => session.halfOpen());
    case 'close':
      return onSessions(parts, action, (session) => session.close(action.code, 'by request'));
    case 'garbage':
      return onSessions(parts, action, (session) =>
        eventFaults.sendGarbage(session, followedOrder(parts, session), action.kind),
      );
    case 'foreign':
      return onSessions(parts, action, (session) => eventFaults.sendForeign(session));
    case 'expire_tokens':
      tokens.lifetimeSeconds = action.lifetimeSeconds ?? tokens.lifetimeSeconds;
      return tokens.revoke(() => true);
    case 'revoke_tokens':
      return tokens.revoke((token) => action.clientId === undefined || action.clientId === token.clientId);
    default: {
      const account = parts.exchange.accounts.get(action.accountId);
      if (account === undefined) return undefined;
      if (action.action === 'unknown_gap') return uncertainty.gap(account, action.forMs);
      return uncertainty.storeLost(account, action.forMs, action.forgotten);
    }
  }
}

function onSessions(
  { subscriptions }: SandboxParts,
  { stream, accountId }: { stream?: StreamTopic | undefined; accountId?: string | undefined },
  act: (session: StreamSession) => void,
): number {
  const sessions = [...subscriptions.sessions].filter(
    ({ targets }) =>
      (stream === undefined && accountId === undefined) ||
      [...targets.values()].some(
        (it) => (stream ?? it.topic) === it.topic && (accountId ?? it.accountId) === it.accountId,
      ),
  );
  for (const session of sessions) act(session);
  return sessions.length;
}

/** An order followed by the connection, so that the broken message looks real. */
function followedOrder({ eventFaults }: SandboxParts, { targets }: StreamSession) {
  for (const { topic, accountId } of targets.values()) {
    const order = eventFaults.anyOrder(topic, accountId);
    if (order !== undefined) return order;
  }
  return undefined;
}

import type { StreamTopic } from '../../venue/platform/wire/stream-messages.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import type { EventFaults } from '../stream/event-faults.ts';
import type { StreamSession, Subscriptions } from '../stream/stream-session.ts';
import type { FaultAction } from './fault-shapes.ts';
import type { Uncertainty } from './uncertainty.ts';

export interface ActionDeps {
  readonly parts: SandboxParts;
  readonly subscriptions: Subscriptions;
  readonly eventFaults: EventFaults;
  readonly uncertainty: Uncertainty;
}

/**
 * Does one fault at once. Answers with how many connections, tokens or orders it met; undefined
 * when it names an account that isn't there.
 */
export function actNow(deps: ActionDeps, action: FaultAction): number | undefined {
  switch (action.action) {
    case 'cut':
      return onSessions(deps, action, (session) => session.cut(action.how));
    case 'half_open':
      return onSessions(deps, action, (session) => session.halfOpen());
    case 'close':
      return onSessions(deps, action, (session) => session.close(action.code, 'by request'));
    case 'garbage':
      return onSessions(deps, action, (session) =>
        deps.eventFaults.sendGarbage(session, followedOrder(deps, session), action.kind),
      );
    case 'foreign':
      return onSessions(deps, action, (session) => deps.eventFaults.sendForeign(session));
    case 'expire_tokens':
      deps.parts.tokens.lifetimeSeconds = action.lifetimeSeconds ?? deps.parts.tokens.lifetimeSeconds;
      return deps.parts.tokens.revoke(() => true);
    case 'revoke_tokens':
      return deps.parts.tokens.revoke((token) => action.clientId === undefined || action.clientId === token.clientId);
    default: {
      const account = deps.parts.exchange.accounts.get(action.accountId);
      if (account === undefined) return undefined;
      if (action.action === 'unknown_gap') return deps.uncertainty.gap(account, action.forMs);
      return deps.uncertainty.storeLost(account, action.forMs, action.forgotten);
    }
  }
}

function onSessions(
  deps: ActionDeps,
  place: { stream?: StreamTopic | undefined; accountId?: string | undefined },
  act: (session: StreamSession) => void,
): number {
  const sessions = [...deps.subscriptions.sessions].filter((session) =>
    place.stream === undefined && place.accountId === undefined
      ? true
      : [...session.targets].some((target) => fits(target, place.stream, place.accountId)),
  );
  for (const session of sessions) act(session);
  return sessions.length;
}

function fits(target: string, stream: string | undefined, accountId: string | undefined): boolean {
  const space = target.indexOf(' ');
  return (
    (stream === undefined || target.slice(0, space) === stream) &&
    (accountId === undefined || target.slice(space + 1) === accountId)
  );
}

/** An order followed by the connection, so that the broken message looks real. */
function followedOrder(deps: ActionDeps, session: StreamSession) {
  for (const target of session.targets) {
    const space = target.indexOf(' ');
    const stream: StreamTopic = target.slice(0, space) === 'prediction' ? 'prediction' : 'account';
    const order = deps.eventFaults.anyOrder(stream, target.slice(space + 1));
    if (order !== undefined) return order;
  }
  return undefined;
}

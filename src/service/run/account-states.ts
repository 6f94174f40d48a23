import type { FollowedAccount } from '../rest/account-states.ts';
import type { Connectors } from '../sources/connectors.ts';
import type { Credentials } from './credentials.ts';

/**
 * Each account that this process follows, for `GET /v1/accounts`; undefined while it does not hold
 * the lane.
 */
export function followedAccounts(
  holdsLane: boolean,
  sources: Pick<Connectors, 'status'>,
  credentials: Pick<Credentials, 'status'>,
): readonly FollowedAccount[] | undefined {
  if (!holdsLane) return undefined;
  const expiries = new Map(credentials.status().map(({ credential, expiresAtMs }) => [credential, expiresAtMs]));
  return sources.status().flatMap(({ credential, stream, accounts }) => {
    const tokenExpiresMs = expiries.get(credential);
    const beside = accounts.map(({ accountId }) => accountId);
    return accounts.map(({ accountId, state, sinceMs, silentLosses, lastAuditMs, lastAuditFound, ...rest }) => ({
      stream,
      accountId,
      state,
      sinceMs,
      beside,
      silentLosses: silentLosses.events,
      ...(rest.lastEventMs !== undefined && { lastEventMs: rest.lastEventMs }),
      ...(rest.lastResyncMs !== undefined && { lastResyncMs: rest.lastResyncMs }),
      ...(lastAuditMs !== undefined &&
        lastAuditFound !== undefined && { lastAudit: { atMs: lastAuditMs, ...lastAuditFound } }),
      ...(rest.lastError !== undefined && { lastError: rest.lastError }),
      ...(rest.standing !== undefined && { standing: rest.standing }),
      ...(tokenExpiresMs !== undefined && { tokenExpiresMs }),
    }));
  });
}

import type { StatusDocument } from '../../contract/status-answer.ts';
import { formatInstant } from '../../domain/instant.ts';
import { present } from '../../domain/present.ts';
import type { RecentEvents } from '../../runtime/recent-count.ts';
import type { AccountScope } from '../../store/orders/order-reads.ts';
import { maySee } from '../rest/auth/principal.ts';
import type { FollowedAccount } from '../rest/service-view.ts';
import type { Connectors, LoginSource } from '../sources/connectors.ts';
import type { Credentials } from './credentials.ts';

/** A source, with the accounts the caller may see. */
interface SeenSource extends LoginSource {
  /** The caller sees all its accounts. */
  readonly whole: boolean;
}

/**
 * The sources with an account in the scope, showing those accounts alone. Words about a whole
 * connection may name any of its accounts, so they are left out unless the caller sees all of them.
 */
export function seenSources(sources: Pick<Connectors, 'status'>, scope: AccountScope): readonly SeenSource[] {
  return sources.status().flatMap((source) => {
    const accounts = source.accounts.filter(({ accountId }) => maySee(scope, accountId));
    if (accounts.length === 0 && scope.kind === 'accounts') return [];
    return [{ ...source, accounts, whole: scope.kind === 'all' || accounts.length === source.accounts.length }];
  });
}

export function credentialRows(
  credentials: Pick<Credentials, 'status'>,
  seen: readonly SeenSource[],
  scope: AccountScope,
): StatusDocument['credentials'] {
  const whole = (name: string) => seen.every(({ credential, whole: all }) => credential !== name || all);
  return credentials
    .status()
    .filter(({ credential }) => scope.kind === 'all' || seen.some((source) => source.credential === credential))
    .map(({ expiresAtMs, lastError, ...rest }) => ({
      ...rest,
      ...(lastError !== undefined && whole(rest.credential) && { lastError }),
      expires: iso(expiresAtMs),
    }));
}

export function sourceRow(source: SeenSource): StatusDocument['sources'][number] {
  const { credential, stream, connected, paused, lastFrameMs, lastEventMs, lastEnd, whole } = source;
  return {
    credential,
    stream,
    connected,
    paused,
    lastFrame: iso(lastFrameMs),
    lastEvent: iso(lastEventMs),
    lastEnd: lastEnd === undefined ? null : whole ? `${lastEnd.reason}: ${lastEnd.detail}` : lastEnd.reason,
    lastEndAt: iso(lastEnd?.atMs),
  };
}

export function accountRows({ credential, stream, accounts, whole }: SeenSource): StatusDocument['accounts'] {
  return accounts.map((account) => ({
    account: account.accountId,
    credential,
    stream,
    state: account.state,
    since: formatInstant(account.sinceMs),
    lastEvent: iso(account.lastEventMs),
    lastResync: iso(account.lastResyncMs),
    lastAudit: iso(account.lastAuditMs),
    sourceEpoch: account.sourceEpoch,
    unrecovered: account.unrecovered,
    inDoubt: account.inDoubt,
    silentLosses: account.silentLosses.events,
    lastError: whole ? (account.lastError ?? null) : null,
    platformStatus: account.standing?.status ?? null,
    placeable: account.standing?.isOpen ?? null,
    unlistedSince: iso(account.standing?.unlistedSinceMs),
  }));
}

/**
 * Orders open here and unknown to the platform, listed up to a number for one person to look at.
 */
export function absentRows({ stream, accounts }: SeenSource): StatusDocument['absentOrders'] {
  return accounts.flatMap(({ accountId, absent }) =>
    absent.map(({ cause, orders, orderIds }) => ({
      account: accountId,
      stream,
      what: cause === 'forgotten' ? 'forgotten by the platform' : 'absent since the platform lost its store',
      orders,
      first: orderIds.join(' '),
    })),
  );
}

/** For all accounts in sight. */
export function silentLossesOf(seen: readonly SeenSource[]): RecentEvents {
  const all = seen.flatMap(({ accounts }) => accounts.map(({ silentLosses }) => silentLosses));
  const firsts = all.flatMap(({ firstMs }) => (firstMs === undefined ? [] : [firstMs]));
  return {
    events: all.reduce((sum, { events }) => sum + events, 0),
    ...(firsts.length > 0 && { firstMs: Math.min(...firsts) }),
  };
}

export function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : formatInstant(ms);
}

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
    return accounts.map(({ accountId, state, sinceMs, silentLosses, lastAuditMs, lastAuditFound, ...rest }) => {
      const lastAudit =
        lastAuditMs === undefined ? undefined : lastAuditFound && { atMs: lastAuditMs, ...lastAuditFound };
      const { lastEventMs, lastResyncMs, lastError, standing } = rest;
      return present({
        ...{ stream, accountId, state, sinceMs, beside, silentLosses: silentLosses.events },
        ...{ lastEventMs, lastResyncMs, lastAudit, lastError, standing, tokenExpiresMs },
      });
    });
  });
}

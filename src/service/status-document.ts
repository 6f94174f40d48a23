import type { CommandDesk } from '../commands/command-desk.ts';
import type { Ingest } from '../ingest/ingest.ts';
import type { LaneKeeper } from '../ingest/lane-keeper.ts';
import type { Relay } from '../publish/relay.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Lease } from '../runtime/lease.ts';
import type { CredentialSource, CredentialSources } from './credential-sources.ts';

interface StatusParts {
  readonly clock: Clock;
  readonly version: string;
  readonly lane: number;
  /** Names this process in the lane's row. */
  readonly instance: string;
  /** How often Kafka has refused a transaction of ours because a later holder had taken the state topic over. */
  readonly fencedByKafka: () => number;
  readonly keeper: LaneKeeper;
  readonly lease: Lease;
  readonly ingest: Ingest;
  readonly relay: Relay;
  readonly sources: CredentialSources;
  readonly desk: CommandDesk;
}

/** The body of `/status`, for people: instants as ISO 8601, nothing secret, nothing that needs a query. */
export function statusDocument(parts: StatusParts): Record<string, unknown> {
  const { clock, version, ingest, relay, sources, desk } = parts;
  const followed = sources.status();
  return {
    version,
    at: iso(clock.nowMs()),
    lane: laneRow(parts),
    ingest: { queued: ingest.depth, paused: ingest.full },
    relay: relay.status(),
    commands: commandRow(desk),
    halts: desk.operator.halts().map(({ scope, cause, reason, by, sinceMs }) => ({
      scope: scope.kind === 'service' ? 'service' : scope.accountId,
      cause,
      since: iso(sinceMs),
      by,
      reason,
    })),
    credentials: sources.credentials().map(({ expiresAtMs, ...rest }) => ({ ...rest, expires: iso(expiresAtMs) })),
    sources: followed.map(sourceRow),
    accounts: followed.flatMap(accountRows),
    absentOrders: followed.flatMap(absentRows),
  };
}

/** `instance` is this process, `holder` the process that holds the lane, this one or another; `takeover` shows how this one last came to hold it. */
function laneRow({ lane, instance, keeper, lease, fencedByKafka }: StatusParts): Record<string, unknown> {
  const { holder, epoch, sinceMs, takeover, takeovers, fenced } = keeper.view;
  return {
    lane,
    instance,
    role: keeper.state === 'held' ? 'holder' : 'standby',
    state: keeper.state,
    mayAct: lease.mayAct(),
    holder: holder ?? null,
    epoch: epoch.toString(),
    since: iso(sinceMs),
    takeovers,
    takeover:
      takeover === undefined
        ? null
        : {
            cause: takeover.cause,
            from: takeover.from ?? null,
            idleMs: takeover.idleMs,
            at: iso(takeover.atMs),
            epoch: takeover.epoch.toString(),
          },
    fenced: { postgres: fenced, kafka: fencedByKafka() },
  };
}

/** Only the holder of the lane knows the unresolved commands. */
function commandRow(desk: CommandDesk): Record<string, unknown> {
  const { enabled, leading, unresolved, oldestUnresolvedMs } = desk.status();
  return {
    commands: enabled ? 'on' : 'off',
    unresolved: leading ? unresolved : null,
    oldestUnresolved: iso(oldestUnresolvedMs),
  };
}

function sourceRow({
  credential,
  stream,
  connected,
  paused,
  lastFrameMs,
  lastEventMs,
  lastEnd,
}: CredentialSource): Record<string, unknown> {
  const end = lastEnd === undefined ? null : `${lastEnd.reason}: ${lastEnd.detail}`;
  return {
    credential,
    stream,
    connected,
    paused,
    lastFrame: iso(lastFrameMs),
    lastEvent: iso(lastEventMs),
    lastEnd: end,
    lastEndAt: iso(lastEnd?.atMs),
  };
}

function accountRows({ credential, stream, accounts }: CredentialSource): Record<string, unknown>[] {
  return accounts.map((account) => ({
    account: account.accountId,
    credential,
    stream,
    state: account.state,
    since: iso(account.sinceMs),
    lastEvent: iso(account.lastEventMs),
    lastResync: iso(account.lastResyncMs),
    lastAudit: iso(account.lastAuditMs),
    sourceEpoch: account.sourceEpoch,
    unrecovered: account.unrecovered,
    inDoubt: account.inDoubt,
    lastError: account.lastError ?? null,
  }));
}

/** Orders that are open here and that the platform does not know, listed up to the number that a person can look at one by one. */
function absentRows({ stream, accounts }: CredentialSource): Record<string, unknown>[] {
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

function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

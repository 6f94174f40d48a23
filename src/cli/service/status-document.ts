import type { CommandDesk } from '../../commands/command-desk.ts';
import type { Ingest } from '../../ingest/ingest.ts';
import type { LaneKeeper } from '../../ingest/lane-keeper.ts';
import type { Relay } from '../../relay/relay.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { CredentialSource, CredentialSources } from './credential-sources.ts';

export interface StatusParts {
  readonly clock: Clock;
  readonly version: string;
  readonly lane: number;
  readonly keeper: LaneKeeper;
  readonly lease: Lease;
  readonly ingest: Ingest;
  readonly relay: Relay;
  readonly sources: CredentialSources;
  readonly desk: CommandDesk;
}

/** The body of `/status`, for people: instants as ISO 8601, nothing secret, nothing that needs a query. */
export function statusDocument(parts: StatusParts): Record<string, unknown> {
  const { clock, version, lane, keeper, lease, ingest, relay, sources, desk } = parts;
  const followed = sources.status();
  return {
    version,
    at: iso(clock.nowMs()),
    lane: {
      lane,
      state: keeper.state,
      holder: keeper.otherHolder ?? (keeper.state === 'held' ? 'this process' : null),
      epoch: lease.epoch.toString(),
    },
    ingest: { queued: ingest.depth, paused: ingest.full },
    relay: relay.status(),
    commands: commandRow(desk),
    halts: desk.halts().map(({ scope, cause, reason, by, sinceMs }) => ({
      scope: scope.kind === 'service' ? 'service' : scope.accountId,
      cause,
      since: iso(sinceMs),
      by,
      reason,
    })),
    credentials: sources.credentials().map(({ expiresAtMs, ...rest }) => ({ ...rest, expires: iso(expiresAtMs) })),
    sources: followed.map(sourceRow),
    accounts: followed.flatMap(accountRows),
  };
}

/** Of what is unresolved the holder of the lane alone knows. */
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
    lastError: account.lastError ?? null,
  }));
}

function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

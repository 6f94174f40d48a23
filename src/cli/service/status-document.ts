import type { Connectors } from '../../connectors/connectors.ts';
import type { SourceStatus } from '../../connectors/source-status.ts';
import type { Ingest } from '../../ingest/ingest.ts';
import type { LaneKeeper } from '../../ingest/lane-keeper.ts';
import type { Relay } from '../../relay/relay.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';

export interface StatusParts {
  readonly clock: Clock;
  readonly version: string;
  readonly lane: number;
  readonly keeper: LaneKeeper;
  readonly lease: Lease;
  readonly ingest: Ingest;
  readonly relay: Relay;
  readonly connectors: Connectors;
}

/** The body of `/status`, for people: instants as ISO 8601, nothing secret, nothing that needs a query. */
export function statusDocument(parts: StatusParts): Record<string, unknown> {
  const { clock, version, lane, keeper, lease, ingest, relay, connectors } = parts;
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
    sources: connectors.status().map(sourceStatus),
  };
}

function sourceStatus(source: SourceStatus): Record<string, unknown> {
  const { stream, connected, paused, lastFrameMs, lastEventMs, lastEnd, accounts } = source;
  return {
    stream,
    connected,
    paused,
    lastFrame: iso(lastFrameMs),
    lastEvent: iso(lastEventMs),
    lastEnd: lastEnd === undefined ? null : { at: iso(lastEnd.atMs), reason: lastEnd.reason, detail: lastEnd.detail },
    accounts: accounts.map(({ sinceMs, lastEventMs: event, lastResyncMs, lastAuditMs, ...rest }) => ({
      ...rest,
      since: iso(sinceMs),
      lastEvent: iso(event),
      lastResync: iso(lastResyncMs),
      lastAudit: iso(lastAuditMs),
    })),
  };
}

function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

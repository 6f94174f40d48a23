import type { Config } from '../../config/config.ts';
import { HealthRegistry } from '../../observability/health.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { Lease } from '../../runtime/lease.ts';
import { readPipeline } from '../fleet/pipeline-reading.ts';
import { AdminServer } from '../rest/admin-server.ts';
import { followedAccounts } from './account-states.ts';
import { addHealthChecks } from './add-health-checks.ts';
import type { CommandParts } from './command-parts.ts';
import type { FleetParts } from './fleet-parts.ts';
import type { KafkaParts } from './kafka-parts.ts';
import { PipelineRing, pipelineRingDefaults } from './pipeline-ring.ts';
import { restParts } from './rest-parts.ts';
import { serviceView } from './service-view.ts';
import type { SharedParts } from './shared-parts.ts';
import { type StatusParts, statusDocument } from './status-document.ts';
import type { StoreParts } from './store-parts.ts';
import type { UpdateParts } from './update-parts.ts';
import type { WatchParts } from './watch-parts.ts';

interface FacePartsDeps extends SharedParts {
  readonly lease: Lease;
  /** The name of this process. */
  readonly holder: string;
  readonly version: string;
  /** Through the proxy, if there is one. */
  readonly fetch: typeof fetch;
  readonly store: StoreParts;
  readonly kafka: KafkaParts;
  readonly watches: WatchParts;
  readonly way: UpdateParts;
  readonly commands: CommandParts;
  readonly fleet: FleetParts;
  readonly tracing: Tracing | undefined;
  readonly draining: () => boolean;
}

export type FaceParts = ReturnType<typeof faceParts>;

/**
 * The parts for callers, probes and operators: REST with the console, and the admin port with
 * health and status.
 */
export function faceParts(deps: FacePartsDeps, config: Config) {
  const { lease, holder, version, fetch, store, kafka, watches, way, commands, fleet, tracing, draining, ...shared } =
    deps;
  const { clock, log, metrics } = shared;
  const { sources, ingest, relay } = way;
  const { service } = commands;
  const { keeper, directory, followCheck } = fleet;
  const read = () => readPipeline({ clock, metrics, ingest });
  const ring = new PipelineRing({ clock, log, read }, pipelineRingDefaults);
  const parts = {
    ...{ clock, keeper, lease, ingest, sources, commands: service },
    fleet: () => directory.standing(clock.nowMs()),
    unfollowed: () => followCheck.unfollowed,
  };
  const status: StatusParts = {
    ...{ ...parts, ...watches, relay, version, instance: holder, fencedByKafka: kafka.fences },
    quarantined: () => watches.housekeeping.quarantined,
    readPipeline: read,
    ratesUpTo: (reading) => ring.lastMinute(reading),
  };
  const look = () => store.shards.look(config.leaseExpireMs);
  const rest = restParts(
    {
      ...{ ...shared, fetch, store, commands: service, others: directory, instance: holder, tracing },
      sharedClock: watches.sharedClock,
      service: serviceView({ clock, commands: config.commands, status, ring, consumers: kafka.consumers, look }),
      accountStates: () => followedAccounts(keeper.state === 'held', sources),
    },
    config,
    version,
  );
  const health = new HealthRegistry({ clock }, { checkDeadlineMs: 3000, maxAgeMs: 1000 });
  addHealthChecks(health, { ...parts, ...watches, pool: store.pool, draining });
  const admin = new AdminServer(
    {
      clock,
      log,
      metrics,
      health,
      eventLoop: watches.eventLoop,
      status: () => statusDocument(status, { kind: 'all' }),
    },
    { host: config.adminHost, port: config.adminPort, names: config.adminNames },
  );
  return { ring, rest, admin };
}

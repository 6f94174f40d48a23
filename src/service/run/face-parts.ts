import type { Config } from '../../config/config.ts';
import { HealthRegistry } from '../../observability/health.ts';
import { readPipeline } from '../fleet/pipeline-reading.ts';
import { AdminServer } from '../rest/admin-server.ts';
import type { RestParts } from '../rest/route.ts';
import { addHealthChecks } from './add-health-checks.ts';
import type { Joined } from './fleet-parts.ts';
import { PipelineRing, pipelineRingDefaults } from './pipeline-ring.ts';
import { restServer } from './rest-parts.ts';
import { serviceView } from './service-view.ts';
import { followedAccounts } from './source-rows.ts';
import { type StatusParts, statusDocument } from './status-document.ts';

/**
 * The parts for callers, probes and operators: REST with the console, and the admin port with
 * health and status.
 */
export function faceParts(made: Joined, fetch: RestParts['fetch'], config: Config) {
  const { clock, log, metrics, lease, holder, version, store, kafka, watches, way, commands, fleet, later } = made;
  const { sources, credentials, ingest, relay } = way;
  const { service } = commands;
  const { keeper, directory } = fleet;
  const read = () => readPipeline({ clock, metrics, ingest });
  const ring = new PipelineRing({ clock, log, read }, pipelineRingDefaults);
  const parts = {
    ...{ clock, keeper, lease, ingest, sources, credentials, commands: service },
    fleet: () => directory.standing(clock.nowMs()),
  };
  const status: StatusParts = {
    ...{ ...parts, ...watches, relay, version, instance: holder, fencedByKafka: kafka.fences },
    deadLetters: () => watches.housekeeping.deadLetters,
    readPipeline: read,
    ratesUpTo: (reading) => ring.lastMinute(reading),
  };
  const look = () => store.shards.look(config.leaseTtlMs);
  const rest = restServer(
    made,
    {
      fetch,
      service: serviceView({
        ...{ clock, commands: config.commands, streams: () => sources.streams },
        ...{ status, ring, consumers: kafka.consumers, look },
      }),
      accountStates: () => followedAccounts(keeper.state === 'held', sources, credentials),
    },
    config,
  );
  const health = new HealthRegistry({ clock }, { checkDeadlineMs: 3000, maxAgeMs: 1000 });
  addHealthChecks(health, { ...parts, ...watches, pool: store.pool, draining: later.draining });
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

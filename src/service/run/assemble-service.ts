import type { ConfigWith, EffectiveValue } from '../../config/config.ts';
import type { Ambient } from '../../observability/ambient.ts';
import { createMetrics, initialiseMetrics } from '../../observability/metrics.ts';
import type { OpenedTracing } from '../../observability/open-tracing.ts';
import { fetchThrough } from '../../runtime/connector-through.ts';
import { Lease } from '../../runtime/lease.ts';
import { closing, type Phase, Supervisor } from '../../runtime/supervisor.ts';
import { kafkaOptions } from '../log/kafka-options.ts';
import { type Commanding, commandParts } from './command-parts.ts';
import { faceParts } from './face-parts.ts';
import { fleetParts, type Joined } from './fleet-parts.ts';
import { kafkaParts } from './kafka-parts.ts';
import { holderName, outsideParts } from './platform-parts.ts';
import type { BaseParts } from './shared-parts.ts';
import { storeOptions, storeParts } from './store-parts.ts';
import { type Flowing, updateParts } from './update-parts.ts';
import { watchParts } from './watch-parts.ts';

type ServeConfig = ConfigWith<'databaseUrl' | 'kafkaBrokers'>;

interface AssembleDeps extends Ambient {
  readonly fetch: typeof fetch;
  readonly version: string;
  /** The settings as they may be printed, for the audit trail. */
  readonly effective: readonly EffectiveValue[];
  /** Left out: traces are off. */
  readonly traces?: OpenedTracing | undefined;
}

/**
 * The whole service from its configuration. Nothing is connected yet: the supervisor's `run` does
 * that, and resolves with the exit code. Some parts call later ones. Those calls come only once the
 * service runs.
 */
export function assembleService(
  { clock, random, log, version, fetch, effective, traces }: AssembleDeps,
  config: ServeConfig,
): Supervisor {
  const metrics = createMetrics();
  initialiseMetrics(metrics, version);
  const base: BaseParts = {
    ...{ clock, random, log, metrics, version, effective, tracing: traces?.tracing, holder: holderName(random) },
    lease: new Lease(
      clock,
      config.leaseTtlMs - config.leaseMarginMs,
      (act) => way.checkpoint.hurry(act),
      config.leaseTtlMs,
    ),
    later: {
      keeper: () => fleet.keeper,
      commands: () => commands.service,
      rest: () => faces.rest,
      draining: () => supervisor.state === 'draining',
    },
  };
  const store = storeParts(
    {
      ...base,
      onLoss: (loss) => fleet.keeper.reportLoss(loss),
      onGroup: (writes) => {
        metrics.commands.journalGroups.inc();
        metrics.commands.journalWrites.inc(writes);
      },
    },
    storeOptions(config),
  );
  const { topicPrefix, topicRetentionDays } = config;
  const kafka = kafkaParts(base, {
    ...{ kafka: kafkaOptions(config), topicPrefix, topicRetentionDays },
    lane: () => base.lease.lane,
  });
  const stored = { ...base, store, kafka };
  const watched = { ...stored, watches: watchParts(stored, config) };
  const outside = outsideParts(watched, config);
  const connected = { ...watched, outside };
  const way: Flowing['way'] = updateParts(connected, config);
  const flowing = { ...connected, way };
  const commands: Commanding['commands'] = commandParts(flowing, config);
  const commanding = { ...flowing, commands };
  const fleet: Joined['fleet'] = fleetParts(commanding, config);
  const joined = { ...commanding, fleet };
  const faces: Faces = faceParts(joined, fetchThrough({ fetch, clock, proxies: outside.proxies }), config);
  const phases = servicePhases(joined, faces, traces);
  const supervisor: Supervisor = new Supervisor({ clock, log }, { phases, drainDeadlineMs: config.drainDeadlineMs });
  return supervisor;
}

type Faces = ReturnType<typeof faceParts>;

/**
 * The life of the process: the start goes down this list, the drain up.
 *
 * The drain first gives shards to other processes, and answers for each until it is given. Then
 * commands end: no new ones, and those in flight end. Then the data path: no new input, and each
 * part empties into the next. The lane is given back once none of our parts can
 * write any more. Reads and the stream of updates are served until all this is done.
 */
function servicePhases(
  { store, kafka, watches, outside, way, commands, fleet }: Joined,
  faces: Faces,
  traces: OpenedTracing | undefined,
): readonly Phase[] {
  const { housekeeping, schema } = watches;
  const [topics, replaced, clocks] = [watches.topics.rounds, watches.replaced.rounds, watches.clocks.rounds];
  const { relay, credentials } = way;
  const { service, results, repairs } = commands;
  const { keeper } = fleet;
  const ingest = closing('ingest', (signal) => way.ingest.drain(signal));
  const shards = closing('shards', (signal) => fleet.shards.release(signal));
  const retirement = closing('fleet', (signal) => fleet.shards.retire(signal));
  const database = closing('database', () => store.close());
  const http = closing('platform-http', () => outside.http.close());
  const recorder = outside.recorder === undefined ? [] : [outside.recorder];
  const publishers = closing('kafka', () => kafka.close());
  return [
    { name: 'observation', starts: [faces.admin, ...(traces === undefined ? [] : [traces]), faces.ring.rounds] },
    { name: 'database', starts: [schema, database], ends: [schema, database] },
    { name: 'watches', starts: [housekeeping, topics, replaced, clocks, http, ...recorder] },
    { name: 'reads', starts: [], ends: [faces.rest] },
    { name: 'Kafka', starts: [publishers, kafka.canary] },
    { name: 'lane', starts: [], ends: [shards, keeper] },
    {
      name: 'data path',
      starts: [relay, results, ingest, credentials],
      ends: [credentials, ingest, relay, results],
    },
    {
      name: 'work',
      starts: [service, faces.rest, shards, keeper, retirement, repairs],
      ends: [retirement, service, repairs],
    },
  ];
}

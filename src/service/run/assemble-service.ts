import type { ConfigWith, EffectiveValue } from '../../config/config.ts';
import type { Ambient } from '../../observability/ambient.ts';
import { createMetrics, initialiseMetrics } from '../../observability/metrics.ts';
import type { OpenedTracing } from '../../observability/open-tracing.ts';
import { fetchThrough } from '../../runtime/connector-through.ts';
import { Lease } from '../../runtime/lease.ts';
import { closing, type Phase, Supervisor } from '../../runtime/supervisor.ts';
import { kafkaOptions } from '../log/kafka-options.ts';
import { type CommandParts, commandParts } from './command-parts.ts';
import { type FaceParts, faceParts } from './face-parts.ts';
import { type FleetParts, fleetParts } from './fleet-parts.ts';
import { type KafkaParts, kafkaParts } from './kafka-parts.ts';
import { holderName, type PlatformParts, platformParts } from './platform-parts.ts';
import { type StoreParts, storeOptions, storeParts } from './store-parts.ts';
import { type UpdateParts, updateParts } from './update-parts.ts';
import { type WatchParts, watchParts } from './watch-parts.ts';

type ServeConfig = ConfigWith<
  'databaseUrl' | 'kafkaBrokers' | 'platformUrl' | 'platformStreamUrl' | 'platformClientId'
>;

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
  const shared = { clock, random, log, metrics };
  const tracing = traces?.tracing;
  const holder = holderName(random);
  const lease = new Lease(clock, config.leaseActMs, () => way.witness.hurry(), config.leaseExpireMs);

  const store = storeParts(
    {
      ...{ ...shared, lease, onFenced: (fence) => fleet.reportFenced(fence) },
      onLoss: (loss) => fleet.keeper.reportLoss(loss),
      onGroup: (writes) => {
        metrics.commands.journalGroups.inc();
        metrics.commands.journalWrites.inc(writes);
      },
    },
    storeOptions(config),
  );
  const { topicPrefix, topicRetentionDays } = config;
  const kafka = kafkaParts(shared, {
    ...{ kafka: kafkaOptions(config), topicPrefix, topicRetentionDays },
    lane: () => lease.lane,
  });
  const watches = watchParts({ ...shared, store, kafka }, config);
  const platform = platformParts({ ...shared, store: store.tokens, clocks: watches.clocks }, config, holder);

  const later = { keeper: () => fleet.keeper, commands: () => commands.service, rest: () => faces.rest };
  const way: UpdateParts = updateParts(
    { ...shared, tracing, lease, store, kafka, platform, sharedClock: watches.sharedClock, ...later },
    config,
  );
  const commands: CommandParts = commandParts(
    { ...shared, tracing, lease, store, kafka, platform, way, sharedClock: watches.sharedClock },
    config,
  );
  const joined = { ...shared, lease, holder, version, store, kafka, watches, way, commands };
  const restAddress = () => faces.rest.address;
  const fleet: FleetParts = fleetParts({ ...joined, effective, restAddress }, config);
  const draining = () => supervisor.state === 'draining';
  const throughProxies = fetchThrough({ fetch, clock, proxies: platform.proxies });
  const faces: FaceParts = faceParts({ ...joined, fleet, tracing, fetch: throughProxies, draining }, config);

  const phases = servicePhases({ store, kafka, watches, platform, way, commands, fleet, faces, traces });
  const supervisor: Supervisor = new Supervisor({ clock, log }, { phases, drainDeadlineMs: config.drainDeadlineMs });
  return supervisor;
}

interface Parts {
  readonly store: StoreParts;
  readonly kafka: KafkaParts;
  readonly watches: WatchParts;
  readonly platform: PlatformParts;
  readonly way: UpdateParts;
  readonly commands: CommandParts;
  readonly fleet: FleetParts;
  readonly faces: FaceParts;
  readonly traces: OpenedTracing | undefined;
}

/**
 * The life of the process: the start goes down this list, the drain up.
 *
 * The drain first gives shards to other processes, and answers for each until it is given. Then
 * commands end: no new ones, and those in flight end. Then the data path: no new input, and each
 * part empties into the next. The lane is given back once none of our parts can
 * write any more. Reads and the stream of updates are served until all this is done.
 */
function servicePhases({
  store,
  kafka,
  watches,
  platform,
  way,
  commands,
  fleet,
  faces,
  traces,
}: Parts): readonly Phase[] {
  const { housekeeping, schema } = watches;
  const [topics, replaced, clocks] = [watches.topics.rounds, watches.replaced.rounds, watches.clocks.rounds];
  const { relay, stateWriter, sources } = way;
  const { service, outcomes, repairs } = commands;
  const { keeper } = fleet;
  const followCheck = fleet.followCheck.rounds;
  const ingest = closing('ingest', (signal) => way.ingest.drain(signal));
  const shards = closing('shards', (signal) => fleet.shards.release(signal));
  const retirement = closing('fleet', (signal) => fleet.shards.retire(signal));
  const database = closing('database', () => store.close());
  const http = closing('platform-http', () => platform.http.close());
  const publishers = closing('kafka', () => kafka.close());
  return [
    { name: 'observation', starts: [faces.admin, ...(traces === undefined ? [] : [traces]), faces.ring.rounds] },
    { name: 'database', starts: [schema, database], ends: [schema, database] },
    { name: 'watches', starts: [housekeeping, topics, replaced, clocks, http] },
    { name: 'reads', starts: [], ends: [faces.rest] },
    { name: 'Kafka', starts: [publishers, kafka.canary] },
    { name: 'lane', starts: [], ends: [shards, keeper] },
    {
      name: 'data path',
      starts: [relay, stateWriter, outcomes, ingest, sources, followCheck],
      ends: [followCheck, sources, ingest, relay, stateWriter, outcomes],
    },
    {
      name: 'work',
      starts: [service, faces.rest, shards, keeper, retirement, repairs],
      ends: [retirement, service, repairs],
    },
  ];
}

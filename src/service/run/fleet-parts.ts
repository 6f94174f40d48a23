import { hostname } from 'node:os';
import type { EffectiveValue } from '../../config/config.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { Fence } from '../../store/commands/term.ts';
import { advertisedUrl } from '../fleet/advertised-url.ts';
import { FleetDirectory } from '../fleet/fleet-directory.ts';
import { LaneFinisher, laneFinisherDefaults } from '../fleet/lane-finisher.ts';
import { LaneKeeper } from '../fleet/lane-keeper.ts';
import { ShardKeeper, shardKeeperDefaults } from '../fleet/shard-keeper.ts';
import { awaitPublished } from '../log/await-published.ts';
import type { CommandParts } from './command-parts.ts';
import { ConfigRecord } from './config-record.ts';
import { followParts } from './follow-parts.ts';
import type { KafkaParts } from './kafka-parts.ts';
import { LaneParts } from './lane-parts.ts';
import type { PlatformConfig } from './platform-parts.ts';
import type { SharedParts } from './shared-parts.ts';
import type { StoreParts } from './store-parts.ts';
import type { UpdateParts } from './update-parts.ts';
import type { WatchParts } from './watch-parts.ts';

interface FleetPartsDeps extends SharedParts {
  readonly lease: Lease;
  /** Names this process in its lane's row. */
  readonly holder: string;
  readonly version: string;
  readonly effective: readonly EffectiveValue[];
  readonly store: StoreParts;
  readonly kafka: KafkaParts;
  readonly watches: WatchParts;
  readonly way: UpdateParts;
  readonly commands: CommandParts;
  /** This process's REST address. REST is made later, from these parts. */
  readonly restAddress: () => string | undefined;
}

export type FleetParts = ReturnType<typeof fleetParts>;

/**
 * This process in the fleet: its lane, the shards that it takes and gives, and its reports to the
 * others.
 */
export function fleetParts(deps: FleetPartsDeps, config: PlatformConfig) {
  const { lease, holder, version, effective, restAddress, store, kafka, watches, way, commands, ...shared } = deps;
  const { clock, random, log } = shared;
  const metrics = shared.metrics.ingest;
  const { leaseRenewMs: renewEveryMs, leaseExpireMs: expireAfterMs } = config;
  const { lanes, updates } = store;
  const { sources, ingest, held, relay, stateWriter, lossCheck } = way;
  const finisher = new LaneFinisher(
    { clock, random, log, lossCheck, lanes, shards: store.shards, updates, publishers: kafka.publishersOf },
    { holder: `${holder}/finisher`, actForMs: config.leaseActMs, renewEveryMs, expireAfterMs, ...laneFinisherDefaults },
  );
  const { eventLoop } = watches;
  const follow = followParts(
    { ...shared, sources, store, held, eventLoop, lossCheck, checkTopics: kafka.checkTopics },
    config,
  );
  const shards = new ShardKeeper(
    {
      ...{ clock, log, lease, held, ingest, metrics, lossCheck, store: store.shards, commands: commands.service },
      ...{ sources: follow.reviewed, fitness: follow.fitness, report: follow.report },
      noticeLost: () => store.noticeLost({}),
      published: (signal) => awaitPublished({ updates, clock, parts: [relay, stateWriter] }, lease.lane, signal),
      finish: (lane, ...signals) => finisher.finish(lane, ...signals),
      changeLane: () => keeper.change(),
      introduction: () => ({
        weight: config.weight,
        address: advertisedUrl(config, { bound: restAddress(), hostname: hostname() }),
        version,
      }),
    },
    { ...shardKeeperDefaults, expireAfterMs, holder },
  );
  const assertCanBegin = () => watches.schema.assertFits();
  const work = new LaneParts({
    ...{ ...way, shards, outcomes: commands.outcomes, checkSchema: assertCanBegin },
    configRecord: new ConfigRecord({ pool: store.pool, clock, random, log }, { config, effective, instance: holder }),
  });
  const keeper: LaneKeeper = new LaneKeeper(
    {
      ...{ store: lanes, lease, work, clock, metrics, log, assertCanBegin },
      pickLane: () => lanes.pick(holder, expireAfterMs),
    },
    { holder, renewEveryMs, expireAfterMs, acquireEveryMs: 1000 },
  );
  const shardOf = (accountId: string) => held.shardOf(accountId);
  return {
    followCheck: follow.followCheck,
    shards,
    keeper,
    directory: new FleetDirectory({ fleet: () => shards.newest, shardOf, holder }),
    /** A write to the journal was refused: the journal has another epoch than its fence. */
    reportFenced: (fence: Fence) => {
      keeper.reportFenced();
      shards.reportFenced(fence);
    },
  };
}

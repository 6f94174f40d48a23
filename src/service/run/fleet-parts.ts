import { hostname } from 'node:os';
import type { Config } from '../../config/config.ts';
import { fitnessRules } from '../../domain/judge-fitness.ts';
import type { MemberReport } from '../../domain/member-report.ts';
import { advertisedUrl } from '../fleet/advertised-url.ts';
import { FleetDirectory } from '../fleet/fleet-directory.ts';
import { LaneFinisher, laneFinisherDefaults } from '../fleet/lane-finisher.ts';
import { LaneKeeper } from '../fleet/lane-keeper.ts';
import { OwnFitness } from '../fleet/own-fitness.ts';
import { ShardKeeper, shardKeeperDefaults } from '../fleet/shard-keeper.ts';
import type { Commanding } from './command-parts.ts';
import { ConfigRecord } from './config-record.ts';
import { LaneParts } from './lane-parts.ts';

export interface Joined extends Commanding {
  readonly fleet: ReturnType<typeof fleetParts>;
}

/**
 * This process in the fleet: its lane, the shards that it takes and gives, and its reports to the
 * others.
 */
export function fleetParts(made: Commanding, config: Config) {
  const { clock, random, log, lease, holder, version, effective, store, kafka, watches, way, commands, later } = made;
  const metrics = made.metrics.ingest;
  const { leaseRenewMs: renewEveryMs, leaseTtlMs: expireAfterMs } = config;
  const { lanes, updates } = store;
  const { ingest, held, relay, lossCheck } = way;
  const finisher = new LaneFinisher(
    { clock, random, log, lossCheck, lanes, shards: store.shards, updates, publishers: kafka.publishersOf },
    {
      holder: `${holder}/finisher`,
      actForMs: config.leaseTtlMs - config.leaseMarginMs,
      renewEveryMs,
      expireAfterMs,
      ...laneFinisherDefaults,
    },
  );
  const follow = followParts(made);
  const shards = new ShardKeeper(
    {
      ...{ clock, log, lease, held, ingest, metrics, lossCheck, store: store.shards, commands: commands.service },
      ...{ sources: way.sources, fitness: follow.fitness, report: follow.report },
      noticeLost: () => store.noticeLost(),
      published: (signal) => relay.awaitPublished(signal),
      finish: (lane, ...signals) => finisher.finish(lane, ...signals),
      changeLane: () => keeper.change(),
      introduction: () => ({
        weight: config.weight,
        address: advertisedUrl(config, { bound: later.rest().address, hostname: hostname() }),
        version,
      }),
    },
    { ...shardKeeperDefaults, expireAfterMs, holder },
  );
  const assertCanBegin = () => watches.schema.assertFits();
  const work = new LaneParts({
    ...{ ...way, shards, results: commands.results, checkSchema: assertCanBegin },
    configRecord: new ConfigRecord({ pool: store.pool, clock, random, log }, { config, effective, instance: holder }),
  });
  const keeper: LaneKeeper = new LaneKeeper(
    {
      ...{ store: lanes, lease, work, clock, metrics, log, assertCanBegin },
      pickLane: () => lanes.pick(holder, expireAfterMs),
    },
    { holder, renewEveryMs, expireAfterMs, acquireEveryMs: 1000 },
  );
  return {
    shards,
    keeper,
    directory: new FleetDirectory({ fleet: () => shards.newest, held, holder }),
  };
}

/** How well this process follows its accounts, and its report to the others. */
function followParts({ kafka, way, watches, ...made }: Commanding) {
  const { clock, random, log, metrics } = made;
  const shared = { clock, random, log, metrics };
  const { sources, credentials, lossCheck } = way;
  const asksKafka = async () => {
    const state = await kafka.checkTopics();
    // A topic that may refuse records is no proof that Kafka takes them.
    return state.kind === 'planned' && (state.doubts ?? []).length === 0;
  };
  const fitness = new OwnFitness({ ...shared, sources, loop: watches.eventLoop, lossCheck, asksKafka }, fitnessRules);
  return {
    fitness,
    report: (): MemberReport => ({
      follows: sources.connections().some(({ accounts }) => accounts > 0),
      unfollowed: sources.unfollowed.length,
      unusableLogins: credentials.status().filter(({ state }) => state === 'login_required').length,
      works: fitness.works,
    }),
  };
}

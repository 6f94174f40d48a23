import { hostname } from 'node:os';
import type { Config } from '../../config/config.ts';
import { fitnessRules } from '../../domain/judge-fitness.ts';
import type { MemberReport } from '../../domain/member-report.ts';
import type { LaneHold } from '../../store/fleet/lane-store.ts';
import { advertisedUrl } from '../fleet/advertised-url.ts';
import { FleetDirectory } from '../fleet/fleet-directory.ts';
import { LaneFinisher, laneFinisherDefaults } from '../fleet/lane-finisher.ts';
import { LaneKeeper, type LaneWork } from '../fleet/lane-keeper.ts';
import type { LossCheck } from '../fleet/loss-check.ts';
import { OwnFitness } from '../fleet/own-fitness.ts';
import { ShardKeeper, shardKeeperDefaults } from '../fleet/shard-keeper.ts';
import type { CheckpointWriter } from '../log/checkpoint-writer.ts';
import type { Relay } from '../log/relay.ts';
import type { ResultRelay } from '../log/result-relay.ts';
import type { Ingest } from '../orders/ingest.ts';
import type { VenueSources } from '../sources/venue-sources.ts';
import type { Commanding } from './command-parts.ts';
import { ConfigRecord } from './config-record.ts';

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
    return state.kind === 'planned' && state.doubts.length === 0;
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

interface LanePartsDeps {
  /** Rejects when the database's schema does not fit this build. */
  readonly checkSchema: () => Promise<void>;
  /**
   * Its `begin` rejects when Kafka has updates the database lacks. Left out: nothing is published.
   */
  readonly lossCheck?: Pick<LossCheck, 'begin' | 'end'>;
  /** Keeps observed commits on Kafka. Left out: nothing is kept. */
  readonly checkpoint?: Pick<CheckpointWriter, 'doubt'>;
  /** Records the configuration while the work goes on. */
  readonly configRecord?: Pick<ConfigRecord, 'begin' | 'end'>;
  readonly sources: Pick<VenueSources, 'begin' | 'end'>;
  readonly ingest: Ingest;
  readonly relay: Relay;
  readonly shards: Pick<ShardKeeper, 'resume' | 'begin' | 'end'>;
  readonly results?: Pick<ResultRelay, 'begin' | 'end'>;
}

/**
 * The parts that run while the lane is held, in the data path's order. They begin from its end, so
 * nothing is offered to a part before it has begun. They end from its start. Commands begin last
 * and end first.
 */
export class LaneParts implements LaneWork {
  private readonly deps: LanePartsDeps;

  constructor(deps: LanePartsDeps) {
    this.deps = deps;
  }

  async begin(hold: LaneHold): Promise<void> {
    const { checkSchema, lossCheck, checkpoint, configRecord, sources, ingest, relay, shards, results } = this.deps;
    await checkSchema();
    await lossCheck?.begin();
    checkpoint?.doubt();
    relay.begin(hold.batch);
    results?.begin();
    ingest.begin(hold);
    await shards.resume();
    await sources.begin();
    // Last, because commands find out about orders through the sources.
    await shards.begin();
    configRecord?.begin();
  }

  async end(): Promise<void> {
    const { lossCheck, configRecord, sources, ingest, relay, shards, results } = this.deps;
    void configRecord?.end();
    lossCheck?.end();
    relay.end();
    results?.end();
    // In parallel: a source may wait for a barrier answered only by the end of ingest, and a
    // command's probe may wait for its source.
    await Promise.all([shards.end(), sources.end(), ingest.end()]);
  }
}

import { hostname } from 'node:os';
import type { ConfigWith, EffectiveValue } from '../../config/config.ts';
import { EventLoopWatch } from '../../observability/event-loop-watch.ts';
import { HealthRegistry } from '../../observability/health.ts';
import { initialiseMetrics } from '../../observability/initialise-metrics.ts';
import type { Log } from '../../observability/log.ts';
import { createMetrics } from '../../observability/metrics.ts';
import type { OpenedTracing } from '../../observability/open-tracing.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import { fetchThrough } from '../../runtime/connector-through.ts';
import { Lease } from '../../runtime/lease.ts';
import type { Random } from '../../runtime/random.ts';
import type { Service } from '../../runtime/supervisor.ts';
import { Supervisor } from '../../runtime/supervisor.ts';
import type { Fence } from '../../store/commands/command-journal.ts';
import { PostgresFleetDesk } from '../../store/fleet/fleet-desk.ts';
import { databaseTimeMs } from '../../store/session/database-clock.ts';
import { advertisedUrl } from '../fleet/advertised-url.ts';
import { FleetDirectory } from '../fleet/fleet-directory.ts';
import { HeldShards } from '../fleet/held-shards.ts';
import { LaneFinisher, laneFinisherDefaults } from '../fleet/lane-finisher.ts';
import { LaneKeeper } from '../fleet/lane-keeper.ts';
import { LossCheck } from '../fleet/loss-check.ts';
import { readPipeline } from '../fleet/pipeline-reading.ts';
import { ShardKeeper, shardKeeperDefaults } from '../fleet/shard-keeper.ts';
import { awaitPublished } from '../log/await-published.ts';
import { kafkaOptions } from '../log/kafka-options.ts';
import { Relay } from '../log/relay.ts';
import { relayDefaults } from '../log/relay-options.ts';
import { StateWriter, stateWriterDefaults } from '../log/state-writer.ts';
import { UpdateTraces } from '../log/update-traces.ts';
import { WitnessWriter } from '../log/witness-writer.ts';
import { Ingest } from '../orders/ingest.ts';
import { AdminServer } from '../rest/admin-server.ts';
import { followedAccounts } from './account-states.ts';
import { addHealthChecks } from './add-health-checks.ts';
import { ClockWatch } from './clock-watch.ts';
import { commandParts } from './command-parts.ts';
import { ConfigDeed } from './config-deed.ts';
import { credentialSources } from './credential-parts.ts';
import { followParts } from './follow-parts.ts';
import { Housekeeping } from './housekeeping.ts';
import { kafkaParts } from './kafka-parts.ts';
import { LaneParts } from './lane-parts.ts';
import { PipelineRing, pipelineRingDefaults } from './pipeline-ring.ts';
import { holderName, platformParts } from './platform-parts.ts';
import { QuarantineJobRound } from './quarantine-job-round.ts';
import { RepairWorker } from './repair-worker.ts';
import { ReplacedTopics } from './replaced-topics.ts';
import { restParts } from './rest-parts.ts';
import { SchemaGate } from './schema-gate.ts';
import { serviceView } from './service-view.ts';
import { type StatusParts, statusDocument } from './status-document.ts';
import { storeParts } from './store-parts.ts';
import { TopicsCheck } from './topics-check.ts';

type ServeConfig = ConfigWith<'databaseUrl' | 'kafkaBrokers' | 'platformUrl' | 'platformStreamUrl' | 'platformClientId'>;

interface AssembleDeps {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
  /** The settings as they may be printed, for the audit trail. */
  readonly effective: readonly EffectiveValue[];
  /** Left out: traces are off. */
  readonly traces?: OpenedTracing | undefined;
}

const hourMs = 3_600_000;

/**
 * The whole service from its configuration: the only place where the rooms meet. The code goes from the end of the data path to its start, because each
 * part is given the next one. Nothing is connected yet; `run` of the supervisor does that, and resolves with the exit code.
 */
export function assembleService(
  { clock, random, log, version, fetch, effective, traces }: AssembleDeps,
  config: ServeConfig,
): Supervisor {
  const metrics = createMetrics();
  initialiseMetrics(metrics, version);
  const holder = holderName(random);
  const lease = new Lease(clock, config.leaseActMs);
  const shared = { clock, random, log, metrics };
  const tracing = traces?.tracing;

  // The keepers are made last, from the other parts; none of them uses one before it has begun a term.
  const onFenced = (fence: Fence) => {
    keeper.reportFenced();
    shards.reportFenced(fence);
  };
  const store = storeParts(
    { ...shared, onFenced, lease },
    {
      url: config.databaseUrl.reveal(),
      poolSize: config.databasePoolSize,
      generationFloor: config.generation,
      ...(config.encryptionKey === undefined ? {} : { encryptionKey: config.encryptionKey }),
    },
  );
  const { topicPrefix, topicRetentionDays } = config;
  const kafka = kafkaParts(shared, {
    kafka: kafkaOptions(config),
    ...{ topicPrefix, topicRetentionDays },
    lane: () => lease.lane,
  });
  const topics = new TopicsCheck({ clock, ask: kafka.checkTopics, metrics: metrics.process });
  const { findTopics } = kafka;
  const replaced = new ReplacedTopics({ clock, log, findTopics, published: store.published, metrics: metrics.process });
  const databaseMs = () => databaseTimeMs(store.pool);
  const clocks = new ClockWatch({ clock, log, metrics: metrics.process, databaseMs });
  const platform = platformParts({ ...shared, store: store.tokens, clocks }, config, holder);

  const witness = new WitnessWriter({
    ...shared,
    lease,
    publisher: kafka.witnessPublisher,
    mayWrite: () => lossCheck.mayPublish,
  });
  lease.witness.onCommand = () => witness.hurry();
  const relay = new Relay(
    {
      ...shared,
      witness,
      logger: log,
      log: store.updates,
      publisher: kafka.publisher,
      lease,
      metrics: { ...metrics.relay, latency: metrics.ingest.latency },
      traces: tracing && new UpdateTraces({ tracing, random }, { every: config.traceUpdatesEvery }),
    },
    relayDefaults,
  );
  const stateWriter = new StateWriter(
    { ...shared, witness, logger: log, log: store.updates, publisher: kafka.statePublisher, lease, metrics: metrics.relay },
    { ...stateWriterDefaults, flushEveryMs: config.stateFlushMs },
  );
  const ingest: Ingest = new Ingest(
    {
      store: store.orders,
      lane: { reclaim: () => keeper.reclaim(), reportLost: (why) => keeper.reportLost(why) },
      lease,
      onCommitted: (batch) => {
        relay.publishCommitted(batch);
        stateWriter.writeCommitted(batch);
        desk.followCommitted(batch);
        rest.wake();
      },
      onCommitUnseen: () => {
        relay.missedCommitted();
        stateWriter.missedCommitted();
        desk.missedCommitted();
        rest.wake();
      },
      clock,
      backoff: new Backoff(random, { firstMs: 20, maxMs: 1000 }),
      metrics: metrics.ingest,
      log,
    },
    config,
  );
  const held = new HeldShards();
  const sources = credentialSources({ ...shared, store, platform, ingest: held.guard(ingest), held }, config);
  // Before the shards are known, none is held, and commands are declined whatever the number.
  const shardOf = (accountId: string) => held.shardOf(accountId) ?? 0;
  const { desk, outcomes } = commandParts(
    {
      ...shared,
      lease,
      store,
      accounts: sources,
      http: platform.http,
      proxies: platform.proxies,
      publisher: kafka.outcomePublisher,
      witness,
      shardOf,
      held,
      tracing,
    },
    config,
  );
  const read = () => readPipeline({ clock, metrics, ingest });
  const ring = new PipelineRing({ clock, log, read }, pipelineRingDefaults);
  const directory = new FleetDirectory({ fleet: () => shards.newest, shardOf: (accountId) => held.shardOf(accountId), holder });
  const rest = restParts(
    {
      ...shared,
      fetch: fetchThrough({ fetch, clock, proxies: platform.proxies }),
      commands: desk,
      reads: store.reads,
      commandReads: store.commandReads,
      service: serviceView({
        clock,
        commands: config.commands,
        status: () => statusParts,
        ring,
        consumers: kafka.consumers,
        look: () => store.shards.look(config.leaseExpireMs),
      }),
      quarantine: store.quarantine,
      fleet: new PostgresFleetDesk({ ...shared, pool: store.pool }, { expireAfterMs: config.leaseExpireMs }),
      repairs: store.repairs,
      accountStates: () => followedAccounts(keeper.state === 'held', sources),
      principals: store.principals,
      journal: store.journal,
      others: directory,
      instance: holder,
      tracing,
    },
    config,
    version,
  );
  const schema = new SchemaGate({ pool: store.pool, log });
  const lossCheck: LossCheck = new LossCheck({
    look: async () =>
      store.lanes.noticeLoss(lease.lane, {
        published: await kafka.newestPublished(),
        unpublishedAfter: witness.unpublishedAfter,
      }),
    onLoss: (loss) => keeper.reportLoss(loss),
    clock,
    log,
  });
  const { leaseActMs: actForMs, leaseRenewMs: renewEveryMs, leaseExpireMs: expireAfterMs } = config;
  const finisher = new LaneFinisher(
    {
      ...shared,
      lanes: store.lanes,
      shards: store.shards,
      updates: store.updates,
      publishers: kafka.publishersOf,
      lossCheck,
    },
    { holder: `${holder}/finisher`, actForMs, renewEveryMs, expireAfterMs, ...laneFinisherDefaults },
  );
  const eventLoop = new EventLoopWatch({ clock }, { sampleEveryMs: 500, lateMs: 1000, lateInARow: 10 });
  const { followCheck, reviewed, fitness, report } = followParts(
    { ...shared, sources, store, held, eventLoop, lossCheck, checkTopics: kafka.checkTopics },
    config,
  );
  const shards = new ShardKeeper(
    {
      ...{ clock, log, lease, held, sources: reviewed, ingest, desks: desk, metrics: metrics.ingest },
      store: store.shards,
      published: (signal) => awaitPublished({ updates: store.updates, clock, parts: [relay, stateWriter] }, lease.lane, signal),
      finish: (lane, ...signals) => finisher.finish(lane, ...signals),
      lossCheck,
      changeLane: () => keeper.change(),
      fitness,
      report,
      card: () => ({
        weight: config.weight,
        address: advertisedUrl(config, { bound: rest.address, hostname: hostname() }),
        version,
      }),
    },
    { ...shardKeeperDefaults, expireAfterMs, holder },
  );
  const tenant = new LaneParts({
    checkSchema: () => schema.assertFits(),
    lossCheck,
    witness,
    configDeed: new ConfigDeed({ pool: store.pool, clock, random, log }, { config, effective, instance: holder }),
    sources,
    ingest,
    relay,
    stateWriter,
    shards,
    outcomes,
  });
  const keeper: LaneKeeper = new LaneKeeper(
    {
      ...{ store: store.lanes, lease, tenant, clock, metrics: metrics.ingest, log },
      pickLane: () => store.lanes.pick(holder, expireAfterMs),
      assertCanBegin: () => schema.assertFits(),
    },
    { holder, renewEveryMs, expireAfterMs, acquireEveryMs: 1000 },
  );
  const housekeeping = new Housekeeping(
    { pool: store.pool, clock, metrics, log },
    {
      partitionRows: store.partitionRows,
      retentionMs: config.retentionDays * 24 * hourMs,
      budgetBytes: config.databaseBudgetMb * 1_000_000,
      maintainEveryMs: 60_000,
      countEveryMs: 15_000,
    },
  );

  const jobs = new QuarantineJobRound({ pool: store.pool, accounts: sources, lease, clock, metrics: metrics.ingest, log });
  const repairs = new RepairWorker({ pool: store.pool, accounts: sources, jobs, clock, log });

  const health = new HealthRegistry({ clock }, { checkDeadlineMs: 3000, maxAgeMs: 1000 });
  const parts = {
    ...{ clock, keeper, lease, ingest, sources, desk },
    fleet: () => directory.standing(clock.nowMs()),
    unfollowed: () => followCheck.unfollowed,
  };
  const statusParts: StatusParts = {
    ...parts,
    version,
    instance: holder,
    fencedByKafka: kafka.fences,
    ...{ topics, replaced, clocks },
    relay,
    quarantined: () => housekeeping.quarantined,
    readPipeline: read,
    ratesUpTo: (reading) => ring.lastMinute(reading),
  };
  const admin = new AdminServer(
    { clock, log, metrics, health, eventLoop, status: () => statusDocument(statusParts, { kind: 'all' }) },
    { host: config.adminHost, port: config.adminPort, names: config.adminNames },
  );
  const ingestStep = closing('ingest', (signal) => ingest.drain(signal));
  const kafkaStep = closing('kafka', async () => {
    await Promise.all(
      [kafka.publisher, kafka.statePublisher, kafka.outcomePublisher, kafka.witnessPublisher].map((publisher) =>
        publisher.close(),
      ),
    );
  });
  const fleetStep = closing('fleet', (signal) => shards.retire(signal));
  const shardsStep = closing('shards', (signal) => shards.release(signal));
  const httpStep = closing('platform-http', () => platform.http.close());
  const storeStep = closing('database', () => store.close());
  const supervisor = new Supervisor(
    { clock, log },
    {
      startOrder: [
        admin,
        ...(traces === undefined ? [] : [traces]),
        ring,
        schema,
        storeStep,
        housekeeping,
        topics,
        replaced,
        clocks,
        httpStep,
        kafkaStep,
        kafka.canary,
        relay,
        stateWriter,
        outcomes,
        ingestStep,
        sources,
        followCheck,
        desk,
        rest,
        shardsStep,
        keeper,
        fleetStep,
        repairs,
      ],
      // First commands: no new ones, and those in flight end. Then the data path: no new input, and each part empties into the next. The lane is given back
      // when no part of ours can write any more. Reads and the stream of updates are served until all of this is done.
      drainOrder: [
        fleetStep,
        desk,
        repairs,
        followCheck,
        sources,
        ingestStep,
        relay,
        stateWriter,
        outcomes,
        shardsStep,
        keeper,
        kafka.canary,
        kafkaStep,
        rest,
        httpStep,
        clocks,
        replaced,
        topics,
        housekeeping,
        schema,
        storeStep,
        ring,
        ...(traces === undefined ? [] : [traces]),
        admin,
      ],
      drainDeadlineMs: config.drainDeadlineMs,
    },
  );
  addHealthChecks(health, {
    ...parts,
    schema,
    pool: store.pool,
    topics,
    draining: () => supervisor.state === 'draining',
  });
  return supervisor;
}

/** A part that needs no start, only an end, as a step of the shutdown plan. */
export function closing(name: string, close: (signal: AbortSignal) => Promise<void>): Service {
  return { name, start: async () => undefined, drain: close };
}

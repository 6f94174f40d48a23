import type { ConfigWith, EffectiveValue } from '../config/config.ts';
import { AdminServer } from '../http/admin-server.ts';
import { Ingest } from '../ingest/ingest.ts';
import { LaneKeeper } from '../ingest/lane-keeper.ts';
import { EventLoopWatch } from '../observability/event-loop-watch.ts';
import { HealthRegistry } from '../observability/health.ts';
import { initialiseMetrics } from '../observability/initialise-metrics.ts';
import type { Log } from '../observability/log.ts';
import { createMetrics } from '../observability/metrics.ts';
import { kafkaOptions } from '../publish/kafka-options.ts';
import { Relay } from '../publish/relay.ts';
import { relayDefaults } from '../publish/relay-options.ts';
import { StateWriter, stateWriterDefaults } from '../publish/state-writer.ts';
import { Backoff } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import { Lease } from '../runtime/lease.ts';
import type { Random } from '../runtime/random.ts';
import type { Service } from '../runtime/supervisor.ts';
import { Supervisor } from '../runtime/supervisor.ts';
import { followedAccounts } from './account-states.ts';
import { addHealthChecks } from './add-health-checks.ts';
import { commandParts } from './command-parts.ts';
import { ConfigDeed } from './config-deed.ts';
import { credentialSources } from './credential-parts.ts';
import { Housekeeping } from './housekeeping.ts';
import { kafkaParts } from './kafka-parts.ts';
import { LaneParts } from './lane-parts.ts';
import { LossCheck } from './loss-check.ts';
import { readPipeline } from './pipeline-reading.ts';
import { PipelineRing, pipelineRingDefaults } from './pipeline-ring.ts';
import { holderName, platformParts } from './platform-parts.ts';
import { QuarantineJobRound } from './quarantine-job-round.ts';
import { RepairWorker } from './repair-worker.ts';
import { restParts } from './rest-parts.ts';
import { SchemaGate } from './schema-gate.ts';
import { serviceView } from './service-view.ts';
import { type StatusParts, statusDocument } from './status-document.ts';
import { storeParts } from './store-parts.ts';

type ServeConfig = ConfigWith<'databaseUrl' | 'kafkaBrokers' | 'platformUrl' | 'platformStreamUrl' | 'platformClientId'>;

interface AssembleDeps {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
  /** The settings as they may be printed, for the audit trail. */
  readonly effective: readonly EffectiveValue[];
}

const hourMs = 3_600_000;

/**
 * The whole service from its configuration: the only place where the rooms meet. The code goes from the end of the data path to its start, because each
 * part is given the next one. Nothing is connected yet; `run` of the supervisor does that, and resolves with the exit code.
 */
export function assembleService(
  { clock, random, log, version, fetch, effective }: AssembleDeps,
  config: ServeConfig,
): Supervisor {
  const metrics = createMetrics();
  initialiseMetrics(metrics, version);
  const holder = holderName(random);
  const { lane } = config;
  const lease = new Lease(clock, config.leaseActMs);
  const shared = { clock, random, log, metrics };

  // The keeper is made last, from the other parts; none of them uses it before it has begun a term.
  const store = storeParts(
    { ...shared, onFenced: () => keeper.reportFenced(), witness: lease.witness },
    {
      url: config.databaseUrl.reveal(),
      lane,
      poolSize: config.databasePoolSize,
      generationFloor: config.generation,
      ...(config.encryptionKey === undefined ? {} : { encryptionKey: config.encryptionKey }),
    },
  );
  const kafka = kafkaParts(shared, { kafka: kafkaOptions(config), topicPrefix: config.topicPrefix, lane });
  const platform = platformParts({ ...shared, store: store.tokens }, config, holder);

  const relay = new Relay(
    {
      ...shared,
      logger: log,
      log: store.updates,
      publisher: kafka.publisher,
      lease,
      metrics: { ...metrics.relay, latency: metrics.ingest.latency },
    },
    { ...relayDefaults, lane },
  );
  const stateWriter = new StateWriter(
    { ...shared, logger: log, log: store.updates, publisher: kafka.statePublisher, lease, metrics: metrics.relay },
    { ...stateWriterDefaults, lane, flushEveryMs: config.stateFlushMs },
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
    { ...config, lane },
  );
  const sources = credentialSources({ ...shared, store, platform, ingest }, config);
  const { desk, outcomes } = commandParts(
    { ...shared, lease, store, accounts: sources, http: platform.http, publisher: kafka.outcomePublisher },
    config,
  );
  const read = () => readPipeline({ clock, metrics, ingest });
  const ring = new PipelineRing({ clock, log, read }, pipelineRingDefaults);
  const rest = restParts(
    {
      ...shared,
      fetch,
      commands: desk,
      reads: store.reads,
      commandReads: store.commandReads,
      service: serviceView({ commands: config.commands, status: () => statusParts, ring, consumers: kafka.consumers }),
      quarantine: store.quarantine,
      repairs: store.repairs,
      accountStates: () => followedAccounts(keeper.state === 'held', sources),
      principals: store.principals,
      journal: store.journal,
    },
    config,
    version,
  );
  const schema = new SchemaGate({ pool: store.pool, log });
  const lossCheck = new LossCheck({
    look: async () => store.lanes.noticeLoss(lane, { published: await kafka.newestUpdates() }),
    onLoss: (loss) => keeper.reportLoss(loss),
    clock,
    log,
  });
  const tenant = new LaneParts({
    checkSchema: () => schema.assertFits(),
    lossCheck,
    configDeed: new ConfigDeed({ pool: store.pool, log }, { config, effective, lane, instance: holder }),
    sources,
    ingest,
    relay,
    stateWriter,
    commands: desk,
    outcomes,
  });
  const keeper: LaneKeeper = new LaneKeeper(
    { store: store.lanes, lease, tenant, assertCanBegin: () => schema.assertFits(), clock, metrics: metrics.ingest, log },
    { lane, holder, renewEveryMs: config.leaseRenewMs, expireAfterMs: config.leaseExpireMs, acquireEveryMs: 1000 },
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

  const jobs = new QuarantineJobRound(
    { pool: store.pool, accounts: sources, lease, clock, metrics: metrics.ingest, log },
    { lane },
  );
  const repairs = new RepairWorker({ pool: store.pool, accounts: sources, jobs, clock, log });

  const health = new HealthRegistry({ clock }, { checkDeadlineMs: 3000, maxAgeMs: 1000 });
  const parts = { clock, keeper, lease, ingest, sources, desk };
  const statusParts: StatusParts = {
    ...parts,
    version,
    lane,
    instance: holder,
    fencedByKafka: kafka.fences,
    relay,
    quarantined: () => housekeeping.quarantined,
    readPipeline: read,
    ratesUpTo: (reading) => ring.lastMinute(reading),
  };
  const eventLoop = new EventLoopWatch({ clock }, { sampleEveryMs: 500, lateMs: 1000, lateInARow: 10 });
  const admin = new AdminServer(
    { clock, log, metrics, health, eventLoop, status: () => statusDocument(statusParts, { kind: 'all' }) },
    { host: config.adminHost, port: config.adminPort, names: config.adminNames },
  );
  const ingestStep = closing('ingest', (signal) => ingest.drain(signal));
  const kafkaStep = closing('kafka', async () => {
    await Promise.all([kafka.publisher, kafka.statePublisher, kafka.outcomePublisher].map((publisher) => publisher.close()));
  });
  const httpStep = closing('platform-http', () => platform.http.close());
  const storeStep = closing('database', () => store.close());
  const supervisor = new Supervisor(
    { clock, log },
    {
      startOrder: [
        admin,
        ring,
        schema,
        storeStep,
        housekeeping,
        httpStep,
        kafkaStep,
        kafka.canary,
        relay,
        stateWriter,
        outcomes,
        ingestStep,
        sources,
        desk,
        rest,
        keeper,
        repairs,
      ],
      // First commands: no new ones, and those in flight end. Then the data path: no new input, and each part empties into the next. The lane is given back
      // when no part of ours can write any more. Reads and the stream of updates are served until all of this is done.
      drainOrder: [
        desk,
        repairs,
        sources,
        ingestStep,
        relay,
        stateWriter,
        outcomes,
        keeper,
        kafka.canary,
        kafkaStep,
        rest,
        httpStep,
        housekeeping,
        schema,
        storeStep,
        ring,
        admin,
      ],
      drainDeadlineMs: config.drainDeadlineMs,
    },
  );
  addHealthChecks(health, {
    ...parts,
    schema,
    pool: store.pool,
    checkTopics: kafka.checkTopics,
    draining: () => supervisor.state === 'draining',
  });
  return supervisor;
}

/** A part that needs no start, only an end, as a step of the shutdown plan. */
export function closing(name: string, close: (signal: AbortSignal) => Promise<void>): Service {
  return { name, start: async () => undefined, drain: close };
}

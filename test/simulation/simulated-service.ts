import { CommandDesk } from '../../src/commands/command-desk.ts';
import type { CommandOptions } from '../../src/commands/command-options.ts';
import type { OrderEntry } from '../../src/commands/order-entry.ts';
import { Connectors } from '../../src/connectors/connectors.ts';
import type { ObservationSink } from '../../src/connectors/observation-sink.ts';
import { Window } from '../../src/connectors/window.ts';
import { Ingest } from '../../src/ingest/ingest.ts';
import { LaneKeeper } from '../../src/ingest/lane-keeper.ts';
import type { Log } from '../../src/observability/log.ts';
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts';
import { PlatformReads } from '../../src/platform/platform-reads.ts';
import { OutcomeRelay } from '../../src/publish/outcome-relay.ts';
import type { Publisher, StatePublisher } from '../../src/publish/publisher.ts';
import { Relay } from '../../src/publish/relay.ts';
import { StateWriter } from '../../src/publish/state-writer.ts';
import { Backoff } from '../../src/runtime/backoff.ts';
import { ByteBudget } from '../../src/runtime/byte-budget.ts';
import { Lease } from '../../src/runtime/lease.ts';
import type { Random } from '../../src/runtime/random.ts';
import { Supervisor } from '../../src/runtime/supervisor.ts';
import { closing } from '../../src/service/assemble-service.ts';
import { LaneParts } from '../../src/service/lane-parts.ts';
import { LossCheck } from '../../src/service/loss-check.ts';
import { PlatformOrderEntry } from '../../src/service/order-entry.ts';
import type { CommandJournal } from '../../src/store/command-journal.ts';
import type { FoundLoss } from '../../src/store/lane-store.ts';
import type { OutcomeLog } from '../../src/store/outcome-log.ts';
import { type AroundLook, aroundLooks, reachingLooks } from './around-looks.ts';
import { CoverageWatch } from './coverage-watch.ts';
import type { CrashPoints } from './crash-points.ts';
import type { DatabaseClient } from './database-client.ts';
import type { PublishedRow } from './database-rows.ts';
import type { Host } from './host.ts';
import type { MemoryPlatform } from './memory-platform.ts';
import type { HostTokens } from './memory-tokens.ts';
import { knownAttempts } from './sending-attempt.ts';
import type { ServiceSettings } from './service-settings.ts';

export interface SimulatedServiceDeps {
  readonly host: Host;
  readonly random: Random;
  readonly database: DatabaseClient;
  readonly publisher: Publisher;
  readonly statePublisher: StatePublisher;
  readonly outcomePublisher: Publisher;
  readonly journal: CommandJournal;
  readonly outcomes: OutcomeLog;
  readonly points: CrashPoints;
  /** The last updates of each partition, and their comparison with the database. */
  readonly newestPublished: () => Promise<readonly PublishedRow[]>;
  readonly noticePublished: (published: readonly PublishedRow[]) => Promise<FoundLoss | undefined>;
  readonly platform: MemoryPlatform;
  readonly tokens: HostTokens;
  readonly log: Log;
  /** Between the connectors and ingest, for a planted bug. */
  readonly intoIngest?: (sink: ObservationSink) => ObservationSink;
  /** Around order entry and the looks of commands, and other options, for a planted bug. */
  readonly wrapEntry?: (entry: OrderEntry) => OrderEntry;
  readonly aroundLook?: AroundLook;
  readonly commandOptions?: Partial<CommandOptions>;
}

/** The service as `assembleService` joins it, on ports in memory: the same parts, in the same order of start and drain. One run of one process. */
export class SimulatedService {
  readonly host: Host;
  readonly metrics: Metrics = createMetrics();
  readonly coverage: CoverageWatch;
  readonly tokens: HostTokens;
  readonly keeper: LaneKeeper;
  readonly ingest: Ingest;
  readonly connectors: Connectors;
  readonly relay: Relay;
  readonly lease: Lease;
  readonly commands: CommandDesk;
  /** Terms of the lane that this process had. */
  terms = 0;
  /** Set when the process has ended by itself. */
  exitCode: number | undefined;
  /** It was told to end. */
  stopping = false;
  private readonly supervisor: Supervisor;

  constructor(deps: SimulatedServiceDeps, settings: ServiceSettings) {
    const { host, random, database, log, tokens } = deps;
    const { clock } = host;
    const { metrics } = this;
    const shared = { clock, random, log };
    this.host = host;
    this.tokens = tokens;
    this.lease = new Lease(clock, settings.lease.actMs);
    this.coverage = new CoverageWatch(clock);
    const relayShared = { ...shared, logger: log, log: database.updates, lease: this.lease };
    const relayMetrics = { ...metrics.relay, latency: metrics.ingest.latency };
    this.relay = new Relay({ ...relayShared, publisher: deps.publisher, metrics: relayMetrics }, settings.relay);
    const stateWriter = new StateWriter(
      { ...relayShared, publisher: deps.statePublisher, metrics: metrics.relay },
      settings.stateWriter,
    );
    this.ingest = new Ingest(
      {
        ...shared,
        store: database.orders,
        lane: { reclaim: () => this.keeper.reclaim(), reportLost: (why) => this.keeper.reportLost(why) },
        lease: this.lease,
        onCommitted: (batch) => {
          this.relay.publishCommitted(batch);
          stateWriter.writeCommitted(batch);
          this.commands.followCommitted(batch);
        },
        onCommitUnseen: () => {
          this.relay.missedCommitted();
          stateWriter.missedCommitted();
          this.commands.missedCommitted();
        },
        backoff: new Backoff(random, { firstMs: 20, maxMs: 1000 }),
        metrics: metrics.ingest,
      },
      settings.ingest,
    );
    this.connectors = this.sources(deps, settings);
    const outcomes = new OutcomeRelay({
      ...shared,
      logger: log,
      log: deps.outcomes,
      publisher: deps.outcomePublisher,
      lease: this.lease,
      metrics: metrics.relay,
    });
    this.commands = this.commandDesk(deps, settings, outcomes);
    const way = { sources: this.connectors, ingest: this.ingest, relay: this.relay, stateWriter };
    const parts = { ...way, commands: this.commands, outcomes };
    const lossCheck = new LossCheck({
      look: async () => deps.noticePublished(await deps.newestPublished()),
      onLoss: (loss) => this.keeper.reportLoss(loss),
      ...shared,
    });
    const tenant = new LaneParts({ ...parts, lossCheck, checkSchema: async () => this.termBegins() });
    const { renewMs: renewEveryMs, expireMs: expireAfterMs } = settings.lease;
    this.keeper = new LaneKeeper(
      { ...shared, store: database.lanes, lease: this.lease, tenant, metrics: metrics.ingest },
      { lane: settings.ingest.lane, holder: host.name, renewEveryMs, expireAfterMs, acquireEveryMs: 1000 },
    );
    const ingestStep = closing('ingest', (signal) => this.ingest.drain(signal));
    this.supervisor = new Supervisor(shared, {
      startOrder: [this.relay, stateWriter, outcomes, ingestStep, this.connectors, this.commands, this.keeper],
      drainOrder: [this.commands, this.connectors, ingestStep, this.relay, stateWriter, outcomes, this.keeper],
      drainDeadlineMs: 25_000,
    });
  }

  start(): void {
    void this.supervisor.run().then((code) => {
      this.exitCode = code;
    });
  }

  /** SIGTERM. */
  stop(): void {
    this.stopping = true;
    this.host.deliver(() => this.supervisor.stop('the simulation says so'));
  }

  private termBegins(): void {
    this.terms += 1;
    this.coverage.forget();
  }

  /** Commands that this process follows. */
  followed(): ReadonlyMap<string, unknown> {
    return (this.commands as unknown as { book: { watched: ReadonlyMap<string, unknown> } }).book.watched;
  }

  private commandDesk(deps: SimulatedServiceDeps, settings: ServiceSettings, outcomes: OutcomeRelay): CommandDesk {
    const { host, random, log, platform, tokens, journal } = deps;
    const { clock } = host;
    const { connectors } = this;
    const accounts = {
      get hasListed() {
        return connectors.hasListed;
      },
      tokensFor: () => tokens,
      account: (...of: Parameters<Connectors['account']>) => connectors.account(...of),
    };
    const entry = new PlatformOrderEntry(
      { accounts, lines: platform.entry.lines(host), clock, metrics: this.metrics.platform },
      { platformUrl: 'http://platform', stagingUrl: 'http://staging' },
    );
    const followed = aroundLooks(accounts, reachingLooks(deps.points, host));
    return new CommandDesk(
      {
        journal,
        entry: knownAttempts(deps.wrapEntry?.(entry) ?? entry),
        accounts: deps.aroundLook ? aroundLooks(followed, deps.aroundLook) : followed,
        quotes: { lastQuote: async () => undefined },
        lease: this.lease,
        clock,
        random,
        log,
        metrics: this.metrics.commands,
        onStep: () => outcomes.wake(),
      },
      { ...settings.commands, ...deps.commandOptions },
    );
  }

  private sources(deps: SimulatedServiceDeps, settings: ServiceSettings): Connectors {
    const { host, random, log, platform, tokens, database } = deps;
    const { clock } = host;
    const http = this.coverage.http(platform.http.client(host));
    const reads = new PlatformReads(
      { http, clock, random, tokens, metrics: this.metrics.platform },
      { platformUrl: 'http://platform', stagingUrl: 'http://staging' },
    );
    return new Connectors(
      {
        clock,
        random,
        log,
        reads,
        tokens,
        registry: database.accounts(settings.ingest.lane, this.lease.witness),
        openSocket: platform.stream.socketFactory(host),
        sink: this.coverage.sink(deps.intoIngest?.(this.ingest) ?? this.ingest),
        metrics: this.metrics.source,
        auditGate: new Window(1),
        budget: new ByteBudget({ maxBytes: 64_000_000 }),
      },
      {
        streamUrl: 'ws://account',
        predictionStreamUrl: 'ws://prediction',
        timings: settings.timings,
        everyMs: settings.accountsEveryMs,
      },
    );
  }
}

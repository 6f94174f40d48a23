import { closing } from '../../src/cli/service/closing.ts';
import { LaneParts } from '../../src/cli/service/lane-parts.ts';
import { Connectors } from '../../src/connectors/connectors.ts';
import type { ObservationSink } from '../../src/connectors/observation-sink.ts';
import { Ingest } from '../../src/ingest/ingest.ts';
import { LaneKeeper } from '../../src/ingest/lane-keeper.ts';
import type { Log } from '../../src/observability/log.ts';
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts';
import { PlatformReads } from '../../src/platform/platform-reads.ts';
import type { Publisher, StatePublisher } from '../../src/relay/publisher.ts';
import { Relay } from '../../src/relay/relay.ts';
import { StateWriter } from '../../src/relay/state-writer.ts';
import { Backoff } from '../../src/runtime/backoff.ts';
import { Lease } from '../../src/runtime/lease.ts';
import type { Random } from '../../src/runtime/random.ts';
import { Supervisor } from '../../src/runtime/supervisor.ts';
import { CoverageWatch } from './coverage-watch.ts';
import type { DatabaseClient } from './database-client.ts';
import type { Host } from './host.ts';
import type { MemoryPlatform } from './memory-platform.ts';
import type { HostTokens } from './memory-tokens.ts';
import type { ServiceSettings } from './service-settings.ts';

export interface SimulatedServiceDeps {
  readonly host: Host;
  readonly random: Random;
  readonly database: DatabaseClient;
  readonly publisher: Publisher;
  readonly statePublisher: StatePublisher;
  readonly platform: MemoryPlatform;
  readonly tokens: HostTokens;
  readonly log: Log;
  /** Between the connectors and ingest, for a planted bug. */
  readonly intoIngest?: (sink: ObservationSink) => ObservationSink;
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
  /** Terms of the lane that this process had. */
  terms = 0;
  /** Set when the process has ended by itself. */
  exitCode: number | undefined;
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
        lane: { reclaim: () => this.keeper.reclaim(), reportLost: () => this.keeper.reportLost() },
        lease: this.lease,
        onCommitted: (batch) => {
          this.relay.hand(batch);
          stateWriter.hand(batch);
        },
        onUnhanded: () => {
          this.relay.missed();
          stateWriter.missed();
        },
        backoff: new Backoff(random, { firstMs: 20, maxMs: 1000 }),
        metrics: metrics.ingest,
      },
      settings.ingest,
    );
    this.connectors = this.sources(deps, settings);
    const parts = { sources: this.connectors, ingest: this.ingest, relay: this.relay, stateWriter };
    const tenant = new LaneParts({ ...parts, checkSchema: async () => this.termBegins() });
    const { renewMs: renewEveryMs, expireMs: expireAfterMs } = settings.lease;
    this.keeper = new LaneKeeper(
      { ...shared, store: database.lanes, lease: this.lease, tenant, metrics: metrics.ingest },
      { lane: settings.ingest.lane, holder: host.name, renewEveryMs, expireAfterMs, acquireEveryMs: 1000 },
    );
    const ingestStep = closing('ingest', (signal) => this.ingest.drain(signal));
    this.supervisor = new Supervisor(shared, {
      startOrder: [this.relay, stateWriter, ingestStep, this.connectors, this.keeper],
      drainOrder: [this.connectors, ingestStep, this.relay, stateWriter, this.keeper],
      drainDeadlineMs: 10_000,
    });
  }

  start(): void {
    void this.supervisor.run().then((code) => {
      this.exitCode = code;
    });
  }

  /** SIGTERM. */
  stop(): void {
    this.host.deliver(() => this.supervisor.stop('the simulation says so'));
  }

  private termBegins(): void {
    this.terms += 1;
    this.coverage.forget();
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
        registry: database.accounts,
        openSocket: platform.stream.socketFactory(host),
        sink: this.coverage.sink(deps.intoIngest?.(this.ingest) ?? this.ingest),
        metrics: this.metrics.source,
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

import { streams } from '../../src/domain/order.ts';
import type { Logger } from '../../src/observability/logger.ts';
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts';
import { Backoff } from '../../src/runtime/backoff.ts';
import { ByteBudget } from '../../src/runtime/byte-budget.ts';
import { type Act, type LaneCheckpoint, Lease } from '../../src/runtime/lease.ts';
import type { Random } from '../../src/runtime/random.ts';
import { closing, Supervisor } from '../../src/runtime/supervisor.ts';
import type { CommandOptions } from '../../src/service/commands/command-options.ts';
import { CommandService } from '../../src/service/commands/command-service.ts';
import type { OrderEntry } from '../../src/service/commands/order-entry.ts';
import { FleetDirectory } from '../../src/service/fleet/fleet-directory.ts';
import { HeldShards } from '../../src/service/fleet/held-shards.ts';
import { LaneFinisher, laneFinisherDefaults } from '../../src/service/fleet/lane-finisher.ts';
import { LaneKeeper } from '../../src/service/fleet/lane-keeper.ts';
import { LossCheck } from '../../src/service/fleet/loss-check.ts';
import { OwnFitness } from '../../src/service/fleet/own-fitness.ts';
import { ShardKeeper } from '../../src/service/fleet/shard-keeper.ts';
import { CheckpointWriter } from '../../src/service/log/checkpoint-writer.ts';
import type { Publisher, StatePublisher } from '../../src/service/log/publisher.ts';
import { Relay } from '../../src/service/log/relay.ts';
import { ResultRelay } from '../../src/service/log/result-relay.ts';
import { Ingest } from '../../src/service/orders/ingest.ts';
import { Credentials } from '../../src/service/run/credentials.ts';
import { LaneParts } from '../../src/service/run/fleet-parts.ts';
import { judgeTrust } from '../../src/service/run/judge-trust.ts';
import { Connectors, type ConnectorsOptions } from '../../src/service/sources/connectors.ts';
import type { ObservationSink } from '../../src/service/sources/observation-sink.ts';
import { VenueSources } from '../../src/service/sources/venue-sources.ts';
import type { CommandJournal } from '../../src/store/commands/command-journal.ts';
import type { ResultLog } from '../../src/store/commands/result-log.ts';
import type { TokenSource } from '../../src/venue/tokens.ts';
import { type AroundLook, aroundLooks, reachingLooks } from './around-looks.ts';
import type { DatabaseClient } from './database-client.ts';
import type { Host } from './host.ts';
import { CoverageWatch } from './oracles/coverage-watch.ts';
import type { CrashPoints } from './plan/crash-points.ts';
import type { LinkedKeys } from './plan/linked-keys.ts';
import { knownAttempts } from './sending-attempt.ts';
import type { ServiceSettings } from './service-settings.ts';
import type { KnownLogins, SimulatedVenue } from './venues/simulated-venue.ts';
import type { MemoryDatabase } from './world/memory-database.ts';
import type { MemoryPlatform } from './world/memory-platform.ts';

/** Lists of accounts come every 3 to 7 s in a run. */
export const unfollowedGraceMs = 8_000;

interface ReachedVenue {
  readonly platform: MemoryPlatform;
  readonly credentials: KnownLogins;
}

interface ReachedBy extends Pick<ReachedVenue, 'platform'> {
  /** Followed from the start. */
  readonly logins: KnownLogins['logins'];
  readonly coverage: CoverageWatch;
  readonly sink: ObservationSink;
  readonly metrics: Metrics;
  readonly at?: Pick<ConnectorsOptions, 'streamUrls' | 'ofVenue'>;
}

const none: KnownLogins['logins'] = new Map();

type LinkedLogins = ReturnType<LinkedKeys['of']>;

export interface SimulatedServiceDeps {
  readonly host: Host;
  readonly random: Random;
  readonly database: DatabaseClient;
  readonly publisher: Publisher;
  readonly statePublisher: (lane: () => number) => StatePublisher;
  /** Those of another lane, for its finisher. */
  readonly publishersOf: (lane: number) => {
    readonly updates: Publisher;
    readonly states: StatePublisher;
    readonly checkpoint: Publisher;
  };
  readonly checkpointPublisher: Publisher;
  /** The part of this process of the shards. */
  readonly weight: number;
  readonly resultPublisher: Publisher;
  readonly journal: CommandJournal;
  readonly results: ResultLog;
  readonly points: CrashPoints;
  /** The newest of each lane on Kafka, and their comparison with the database. */
  readonly checkpoints: () => Promise<readonly LaneCheckpoint[]>;
  readonly noticePublished: MemoryDatabase['noticeLoss'];
  /** The comparison of the database with what this process has seen. */
  readonly noticeCheckpoint: MemoryDatabase['noticeLoss'];
  readonly platform: MemoryPlatform;
  readonly credentials: KnownLogins;
  /** A venue that is followed beside the first one. */
  readonly beside?: ReachedVenue;
  /** Logins that users link and remove. Left out: those of the settings, and no others. */
  readonly links?: LinkedLogins;
  readonly log: Logger;
  /** Between the connectors and ingest, for a planted bug. */
  readonly intoIngest?: (sink: ObservationSink) => ObservationSink;
  /** Around order entry and the looks of commands, and other options, for a planted bug. */
  readonly wrapEntry?: (entry: OrderEntry) => OrderEntry;
  readonly aroundLook?: AroundLook;
  readonly commandOptions?: Partial<CommandOptions>;
  /** Other parts of the keeper of the shards, for a planted bug. */
  readonly shardsIngest?: (ingest: Ingest) => Pick<Ingest, 'committed' | 'fence' | 'forgetOrders'>;
  /** Between the connectors and the guard. */
  readonly intoGuard?: (sink: ObservationSink) => ObservationSink;
  readonly keeping?: Partial<ConstructorParameters<typeof ShardKeeper>[0]>;
}

/**
 * The service as `assembleService` joins it, on ports in memory: the same parts, in the same order
 * of start and drain. One run of one process.
 */
export class SimulatedService {
  readonly host: Host;
  readonly metrics: Metrics = createMetrics();
  readonly coverage: CoverageWatch;
  private readonly coverageBeside: CoverageWatch | undefined;
  readonly credentials: KnownLogins;
  readonly keeper: LaneKeeper;
  readonly ingest: Ingest;
  readonly connectors: Connectors;
  /** With those of the venue beside. */
  readonly sources: Connectors | VenueSources;
  readonly relay: Relay;
  readonly lease: Lease;
  readonly commands: CommandService;
  readonly held = new HeldShards();
  readonly shards: ShardKeeper;
  /** Terms of the lane that this process had. */
  terms = 0;
  /** Set when the process has ended by itself. */
  exitCode: number | undefined;
  /** It was told to end. */
  stopping = false;
  /** To itself it seems that none of its sockets is open. */
  sick = false;
  private readonly supervisor: Supervisor;
  private logins: Credentials | undefined;
  private readonly deps: SimulatedServiceDeps;

  constructor(deps: SimulatedServiceDeps, settings: ServiceSettings) {
    const { host, random, database, log, credentials, platform } = deps;
    const { clock } = host;
    const { metrics } = this;
    const shared = { clock, random, log };
    this.deps = deps;
    this.host = host;
    this.credentials = credentials;
    this.lease = new Lease(clock, settings.lease.actMs, (act) => checkpoint.hurry(act));
    this.coverage = new CoverageWatch(clock, platform.venue.reads);
    this.coverageBeside = deps.beside && new CoverageWatch(clock, deps.beside.platform.venue.reads);
    const lossCheck = new LossCheck({
      lease: this.lease,
      look: async ({ lane, epoch }) => deps.noticePublished(lane, await deps.checkpoints(), epoch),
      holdBack: ({ lane, epoch }) => database.lanes.holdBack(lane, epoch),
      onLoss: (loss) => this.keeper.reportLoss(loss),
      ...shared,
    });
    const mayWrite = () => lossCheck.mayPublish;
    const checkpoint = new CheckpointWriter({
      clock,
      lease: this.lease,
      publisher: deps.checkpointPublisher,
      mayWrite,
    });
    this.relay = new Relay(
      {
        ...{ ...shared, checkpoint, logger: log, log: database.updates, lease: this.lease },
        ...{ publisher: deps.publisher, statePublisher: deps.statePublisher(() => this.lease.lane) },
        metrics: { ...metrics.relay, latency: metrics.ingest.latency },
      },
      settings.relay,
    );
    this.ingest = new Ingest(
      {
        ...shared,
        store: database.orders,
        lane: { reclaim: () => this.keeper.reclaim(), reportLost: (why) => this.keeper.reportLost(why) },
        lease: this.lease,
        onCommitted: (batch) => {
          this.relay.publishCommitted(batch);
          this.commands.followCommitted(batch);
        },
        onCommitUnseen: () => {
          this.relay.missedCommitted();
          this.commands.missedCommitted();
        },
        backoff: new Backoff(random, { firstMs: 20, maxMs: 1000 }),
        metrics: metrics.ingest,
      },
      settings.ingest,
    );
    const guarded = this.held.guard(this.coverage.sink(deps.intoIngest?.(this.ingest) ?? this.ingest));
    const into = { coverage: this.coverage, sink: deps.intoGuard?.(guarded) ?? guarded, metrics };
    const logins = deps.links === undefined ? credentials.logins : none;
    this.connectors = this.connectorsTo(deps, settings, { platform, logins, ...into });
    this.sources = this.withBeside(deps, settings);
    const results = new ResultRelay({
      ...shared,
      logger: log,
      log: deps.results,
      shards: () => this.held.shards,
      publisher: deps.resultPublisher,
      checkpoint,
      lease: this.lease,
      metrics: metrics.relay,
    });
    this.commands = this.commandService(deps, settings, results);
    const way = { sources: this.sources, ingest: this.ingest, relay: this.relay };
    this.shards = this.shardKeeper(deps, settings, lossCheck);
    const parts = { ...way, shards: this.shards, results };
    const work = new LaneParts({ ...parts, lossCheck, checkpoint, checkSchema: async () => this.termBegins() });
    const { renewMs: renewEveryMs, expireMs: expireAfterMs } = settings.lease;
    this.keeper = new LaneKeeper(
      {
        ...{ ...shared, store: database.lanes, lease: this.lease, work, metrics: metrics.ingest },
        pickLane: () => database.lanes.pick(host.name, expireAfterMs),
      },
      { holder: host.name, renewEveryMs, expireAfterMs, acquireEveryMs: 1000 },
    );
    const ingestStep = closing('ingest', (signal) => this.ingest.drain(signal));
    const sourcesStep =
      deps.links === undefined ? closing('sources', () => this.sources.end()) : this.linked(deps, deps.links);
    const fleetStep = closing('fleet', (signal) => this.shards.retire(signal));
    const shardsStep = closing('shards', (signal) => this.shards.release(signal));
    const data = [this.relay, results];
    this.supervisor = new Supervisor(shared, {
      phases: [
        { name: 'lane', starts: [], ends: [shardsStep, this.keeper] },
        {
          name: 'data path',
          starts: [...data, ingestStep, sourcesStep],
          ends: [sourcesStep, ingestStep, ...data],
        },
        { name: 'work', starts: [this.commands, shardsStep, this.keeper, fleetStep], ends: [fleetStep, this.commands] },
      ],
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

  /** The doubts of accounts, as this process would name them, where all else is well. */
  doubts(): readonly string[] {
    const nowMs = this.host.clock.nowMs();
    const directory = new FleetDirectory({
      fleet: () => this.shards.newest,
      held: this.held,
      holder: this.host.name,
    });
    const nothing = { rows: 0 };
    const { doubts } = judgeTrust({
      nowMs,
      lane: { held: this.keeper.state === 'held', mayAct: this.lease.mayAct(), holder: this.host.name, sinceMs: nowMs },
      fleet: directory.standing(nowMs),
      unfollowed: this.sources.unfollowed,
      unlisted: this.sources.unlisted,
      accounts: this.sources.status().flatMap(({ stream, accounts }) => accounts.map((each) => ({ stream, ...each }))),
      heartbeatMs: nowMs,
      ...{
        notStored: nothing,
        unsent: [],
        unresolved: nothing,
        halts: [],
        silentLosses: { events: 0 },
        deadLetters: nothing,
      },
    });
    return doubts.map(({ name }) => name);
  }

  private sockets() {
    return this.sick ? [{ connected: false, accounts: 1 }] : this.sources.connections();
  }

  private termBegins(): void {
    this.terms += 1;
    this.coverage.forget();
    this.coverageBeside?.forget();
  }

  coverageOf({ name }: SimulatedVenue): CoverageWatch | undefined {
    return name === this.deps.platform.venue.name ? this.coverage : this.coverageBeside;
  }

  /** What it claimed of its accounts, and was not so. */
  get uncovered(): readonly string[] {
    return [...this.coverage.breaches, ...(this.coverageBeside?.breaches ?? [])];
  }

  follows(commandId: string): boolean {
    const { book } = this.commands as unknown as { book: { get(commandId: string): unknown } };
    return book.get(commandId) !== undefined;
  }

  private shardKeeper(deps: SimulatedServiceDeps, settings: ServiceSettings, lossCheck: LossCheck): ShardKeeper {
    const { host, random, database, publishersOf, weight, log } = deps;
    const { clock } = host;
    const { actMs: actForMs, renewMs: renewEveryMs, expireMs: expireAfterMs } = settings.lease;
    const { lanes, shards, updates } = database;
    const finisher = new LaneFinisher(
      { lanes, shards, updates, publishers: publishersOf, lossCheck, clock, random, log },
      { holder: `${host.name}/finisher`, actForMs, renewEveryMs, expireAfterMs, ...laneFinisherDefaults },
    );
    const fitness = new OwnFitness(
      {
        ...{ clock, log, metrics: this.metrics },
        sources: { connections: () => this.sockets(), openIdle: () => this.sources.openIdle() },
      },
      settings.fitness,
    );
    return new ShardKeeper(
      {
        ...{
          clock,
          log,
          lease: this.lease,
          held: this.held,
          sources: this.sources,
          ingest: this.ingest,
          commands: this.commands,
        },
        store: shards,
        published: (signal) => this.relay.awaitPublished(signal),
        finish: (lane, ...signals) => finisher.finish(lane, ...signals),
        metrics: this.metrics.ingest,
        lossCheck,
        noticeLost: () => this.noticeLost(deps),
        changeLane: () => this.keeper.change(),
        fitness,
        report: () => ({
          follows: this.sources.connections().some(({ accounts }) => accounts > 0),
          unfollowed: this.sources.unfollowed.length,
          unusableLogins: 0,
          works: fitness.works,
        }),
        introduction: () => ({ weight, address: undefined, version: '1' }),
        ...(deps.shardsIngest && { ingest: deps.shardsIngest(this.ingest) }),
        ...deps.keeping,
      },
      { ...settings.shards, expireAfterMs, holder: host.name },
    );
  }

  private commandService(deps: SimulatedServiceDeps, settings: ServiceSettings, results: ResultRelay): CommandService {
    const { host, random, log, platform, credentials, journal } = deps;
    const { venue } = platform;
    const { clock } = host;
    const { connectors } = this;
    const accounts = {
      get hasListed() {
        return connectors.hasListed;
      },
      streams: connectors.streams,
      tokensFor: (accountId: string) =>
        deps.links === undefined ? credentials.logins.get(venue.loginOf(accountId)) : connectors.tokensFor(accountId),
      account: (...of: Parameters<Connectors['account']>) => connectors.account(...of),
      standing: (...of: Parameters<Connectors['standing']>) => connectors.standing(...of),
    };
    const lines = platform.entry.lines(host);
    const entry = venue.orderEntry({ accounts, lines, clock, metrics: this.metrics.platform });
    const followed = aroundLooks(accounts, reachingLooks(deps.points, host));
    return new CommandService(
      {
        journal,
        entry: knownAttempts(deps.wrapEntry?.(entry) ?? entry),
        accounts: deps.aroundLook ? aroundLooks(followed, deps.aroundLook) : followed,
        quotes: { lastQuote: async () => undefined },
        shardOf: (accountId) => this.held.shardOf(accountId) ?? 0,
        part: () => this.held.part,
        lease: this.lease,
        clock,
        random,
        log,
        metrics: this.metrics.commands,
        onStep: () => results.wake(),
        noticeLost: (act) => this.noticeLost(deps, act),
      },
      { ...settings.commands, ...deps.commandOptions },
    );
  }

  private async noticeLost(deps: SimulatedServiceDeps, act?: Act): Promise<void> {
    const { lane, checkpoint } = this.lease;
    const acts = [...(checkpoint.newest?.acts ?? []), ...(act === undefined ? [] : [act])];
    const loss = checkpoint.newest && (await deps.noticeCheckpoint(lane, [{ ...checkpoint.newest, lane, acts }]));
    if (loss !== undefined) this.keeper.reportLoss(loss);
  }

  private withBeside(deps: SimulatedServiceDeps, settings: ServiceSettings): Connectors | VenueSources {
    const { beside } = deps;
    if (beside === undefined || this.coverageBeside === undefined) return this.connectors;
    const into = {
      coverage: this.coverageBeside,
      sink: this.held.guard(this.coverageBeside.sink(this.ingest)),
      metrics: createMetrics(),
    };
    const { platform, credentials } = beside;
    const other = this.connectorsTo(deps, settings, { platform, logins: credentials.logins, ...into });
    const followed = [...this.connectors.streams, ...other.streams];
    const left = this.connectorsTo(deps, settings, {
      ...{ platform, logins: none, ...into },
      at: { streamUrls: {}, ofVenue: streams.filter((stream) => !followed.includes(stream)) },
    });
    return new VenueSources([this.connectors, other], left);
  }

  private connectorsTo(
    { host, random, log, database }: SimulatedServiceDeps,
    settings: ServiceSettings,
    reached: ReachedBy,
  ): Connectors {
    const { platform, logins, sink, metrics, at } = reached;
    const { clock } = host;
    const connectors = new Connectors(
      {
        ...{ clock, random, log, sink },
        registry: database.accounts(this.lease),
        openSocket: platform.stream.socketFactory(host),
        metrics: metrics.source,
        budget: new ByteBudget({ maxBytes: 64_000_000 }),
      },
      {
        streamUrls: platform.venue.streamUrls,
        timings: settings.timings,
        everyMs: settings.accountsEveryMs,
        compareEveryMs: 500,
        graceMs: unfollowedGraceMs,
        isOurs: (accountId) => this.held.follows(accountId),
        part: () => this.held.part,
        knowsAll: () => this.logins?.knowsAll ?? true,
        ...at,
      },
    );
    for (const [name, tokens] of logins)
      connectors.add(name, { ...this.signIn({ host, random }, reached, tokens), log });
    return connectors;
  }

  private signIn<T extends TokenSource>(
    { host, random }: Pick<SimulatedServiceDeps, 'host' | 'random'>,
    { platform, coverage, metrics }: Pick<ReachedBy, 'platform' | 'coverage' | 'metrics'>,
    tokens: T,
  ) {
    const { venue, http } = platform;
    const own = coverage.http(http.client(host));
    const reading = { http: own, clock: host.clock, random, tokens, metrics: metrics.platform };
    return { venue: venue.venue, reads: venue.orderReads(reading, http.pageSize), tokens };
  }

  private linked(deps: SimulatedServiceDeps, { prefix, ...links }: LinkedLogins): Credentials {
    const { connectors, coverage, metrics, sources } = this;
    const { platform } = deps;
    const signIn = async (name: string) =>
      this.signIn(deps, { platform, coverage, metrics }, await links.tokensOf(name));
    this.logins = new Credentials(
      {
        ...{ clock: deps.host.clock, log: deps.log, metrics: metrics.platform, list: links },
        ...{ kinds: [{ prefix, connectors, signIn }], sources },
      },
      { lookEveryMs: 500 },
    );
    return this.logins;
  }
}

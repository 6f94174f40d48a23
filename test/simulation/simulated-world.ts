import { type Command, makesOrder } from '../../src/domain/command.ts';
import { isTerminal, type OrderStatus } from '../../src/domain/order.ts';
import { shardOf } from '../../src/domain/partition.ts';
import type { Logger } from '../../src/observability/logger.ts';
import type { CommitCheckpoint } from '../../src/runtime/lease.ts';
import type { Random } from '../../src/runtime/random.ts';
import { below, happens, oneOf } from '../../src/sandbox/market/instruments.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import { commandDefaults } from '../../src/service/commands/command-options.ts';
import type { PublishRow } from '../../src/service/log/publisher.ts';
import type { Binding } from '../../src/store/orders/order-store.ts';
import { MemoryJournal } from '../support/commands/memory-journal.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';
import { type DatabaseClient, databaseClient } from './database-client.ts';
import { DatabaseOrders } from './database-orders.ts';
import type { LogEntry } from './database-rows.ts';
import { Host } from './host.ts';
import { journalClient, lacksActs } from './journal-client.ts';
import { journalResults } from './journal-results.ts';
import { CheckpointWatch } from './oracles/checkpoint-watch.ts';
import { CommandWatch } from './oracles/command-watch.ts';
import { HaltOracle } from './oracles/halt-oracle.ts';
import { ResultWatch } from './oracles/result-watch.ts';
import { type Assignment, SafetyWatch } from './oracles/safety-watch.ts';
import { Callers } from './plan/callers.ts';
import { type CommandPlan, type CommandWishes, drawCommandPlan } from './plan/command-plan.ts';
import { CrashPoints } from './plan/crash-points.ts';
import { type EnemyPlan, misled, noEnemy } from './plan/enemy.ts';
import { asWished, drawFaultPlan, type FaultPlan } from './plan/fault-plan.ts';
import { FleetOperator } from './plan/fleet-operator.ts';
import { LinkedKeys } from './plan/linked-keys.ts';
import { LonelyLoss } from './plan/lonely-loss.ts';
import { OperatorActions } from './plan/operator-actions.ts';
import { VenueBeside } from './plan/venue-beside.ts';
import type { BareViews } from './planted/bare-views.ts';
import type { PlantedBug } from './planted/planted-bug.ts';
import { drawSettings, type ServiceSettings, unhurried } from './service-settings.ts';
import { SimulatedService } from './simulated-service.ts';
import { drawSurprises } from './surprises.ts';
import { Trace } from './trace.ts';
import { simulatedAlpaca } from './venues/simulated-alpaca.ts';
import { simulatedPlatform } from './venues/simulated-platform.ts';
import type { KnownLogins } from './venues/simulated-venue.ts';
import { MemoryBroker } from './world/memory-broker.ts';
import { MemoryDatabase } from './world/memory-database.ts';
import { MemoryPlatform } from './world/memory-platform.ts';
import type { MemorySocket } from './world/memory-socket.ts';

interface WorldOptions {
  readonly seed: number;
  /** Where each line of the trace goes. */
  readonly print?: (line: string) => void;
  /** The log of the services, beside the trace. */
  readonly log: Logger;
  readonly bug?: PlantedBug;
  readonly wishes?: CommandWishes;
}

/**
 * Everything of one run: a clock, a database, a broker, a platform, and one to five
 * slots for processes of the service, each on a lane of its own, which share the
 * shards. Each part has a source of randomness of its own, so that a change in one
 * does not shuffle the draws of the others.
 */
export class SimulatedWorld {
  readonly clock = new VirtualClock();
  readonly trace: Trace;
  readonly plan: FaultPlan;
  readonly settings: ServiceSettings;
  readonly database: MemoryDatabase;
  readonly databaseHost: Host;
  readonly broker: MemoryBroker;
  readonly platform: MemoryPlatform;
  readonly watch: SafetyWatch;
  /** Undefined: nobody sends commands in this run. */
  readonly commandPlan: CommandPlan | undefined;
  readonly points: CrashPoints;
  readonly journal: MemoryJournal;
  readonly commandWatch: CommandWatch;
  readonly haltOracle: HaltOracle;
  readonly callers: Callers;
  readonly results: ResultWatch;
  readonly operator: FleetOperator;
  private readonly checkpointed = new CheckpointWatch();
  /** Waits for commits that the database can lose without anybody alive having seen them. */
  private lonely:
    | { committed(lane: number, rows: readonly LogEntry[]): void; appended(row: PublishRow): void }
    | undefined;
  readonly beside: VenueBeside | undefined;
  /** Undefined: the settings have all keys. */
  readonly links: LinkedKeys | undefined;
  /** Steps of commands that are marked as published. */
  private readonly published = new Set<number>();
  /** What draws the times and kinds of incidents. */
  readonly random: Random;
  /** The present process of each slot; undefined while there is none. */
  readonly slots: (SimulatedService | undefined)[];
  /** Breaches found in processes that are gone. */
  readonly pastBreaches: string[] = [];
  private readonly stops: OperatorActions;
  private readonly stopping: Random;
  /** Accounts that are read for a person. */
  private readonly repairing = new Set<string>();
  commits = 0;
  /** What misleads the members of the fleet now. */
  /** How far the wall clocks of processes may differ, at most. */
  clocksApartMs = 0;
  enemy: EnemyPlan = noEnemy;
  databaseClockWasSet = false;
  /** By shard and epoch: the process that uses it. */
  private readonly fences = new Map<string, string>();
  private ending = false;
  private started = 0;
  private readonly options: WorldOptions;

  constructor(options: WorldOptions) {
    const { seed, print } = options;
    this.options = options;
    this.trace = new Trace(this.clock, print);
    this.random = this.source(0);
    const { wishes = {} } = options;
    const venue = wishes.venue === simulatedAlpaca.name ? simulatedAlpaca : simulatedPlatform;
    this.plan = asWished(drawFaultPlan(this.source(1)), wishes);
    const settings = drawSettings(this.source(2));
    this.settings = wishes.leaking === true ? unhurried(settings) : settings;
    this.commandPlan = drawCommandPlan(this.source(6), this.plan.faultyMs, wishes);
    this.points = new CrashPoints(this.commandPlan?.crash);
    this.points.crash = (host) => this.crashAt(host);
    this.databaseHost = new Host('database', this.clock);
    this.database = new MemoryDatabase(this.databaseHost.clock, this.source(3));
    this.database.shards.count = this.plan.shards;
    this.broker = new MemoryBroker(this.clock, this.source(4));
    const { clock, trace, points, database } = this;
    this.platform = new MemoryPlatform(
      {
        clock,
        random: this.source(5),
        entryRandom: this.source(8),
        bareRandom: this.source(11),
        lossRandom: this.source(12),
        surpriseRandom: this.source(20),
        legsRandom: this.source(22),
        trace,
        points,
        venue,
      },
      this.plan.platform,
    );
    this.platform.http.pageSize = this.plan.pageSize;
    const keys = this.source(30);
    this.links = venue.hasKeys && happens(keys, 0.3) ? new LinkedKeys(this, keys) : undefined;
    if (wishes.beside === true) {
      const other = venue === simulatedAlpaca ? simulatedPlatform : simulatedAlpaca;
      this.beside = new VenueBeside(this, {
        random: this.source(40),
        entryRandom: this.source(41),
        bareRandom: this.source(42),
        lossRandom: this.source(43),
        surpriseRandom: this.source(44),
        legsRandom: this.source(45),
        ...{ trace, points, venue: other },
      });
    }
    const { platforms } = this;
    const platform = {
      takesBack: (orderId: string) => platforms.some((each) => each.takesBack(orderId)),
      reused: this.platform.reused,
    };
    this.watch = new SafetyWatch((accountId) => this.assignmentOf(accountId), platform, database);
    this.journal = new MemoryJournal(new DatabaseOrders(database), (shard) => database.shards.rows[shard]?.epoch);
    this.commandWatch = new CommandWatch(
      {
        journal: this.journal,
        ledger: this.platform.ledger,
        completeLists: this.platform.http.completeLists,
        // A correction may bring back an order that had ended, behind a
        // verdict that was true of all that was shown.
        orderOf: (orderId) => {
          const order = this.platform.exchange.orders.get(orderId ?? '');
          if (order === undefined || this.platform.corrected.has(order)) return undefined;
          // It may be another one by now.
          return this.platform.reused.has(this.platform.keyOf(order)) ? undefined : order;
        },
        orderAt: (orderId) => this.platform.exchange.orders.get(orderId),
        clock,
      },
      { writeWithinMs: commandDefaults.writeWithinMs },
    );
    this.haltOracle = new HaltOracle(this.journal, {
      nowMs: () => clock.monotonicMs(),
      writeWithinMs: commandDefaults.writeWithinMs,
      haltAt: () => this.settings.commands.haltAt,
    });
    database.lacksActs = (acts) => lacksActs(this.journal, acts);
    this.callers = new Callers(this, this.source(7));
    this.stopping = this.source(16);
    this.stops = new OperatorActions(this, this.stopping, (what) => this.pastBreaches.push(what));
    this.results = new ResultWatch(this.journal);
    this.operator = new FleetOperator({ database, trace, random: this.source(13), services: () => this.services });
    this.slots = Array.from({ length: this.plan.instances }, () => undefined);
    this.trace.add('world', 'seed', String(seed));
    this.observe();
  }

  get platforms(): readonly MemoryPlatform[] {
    return [this.platform, ...(this.beside === undefined ? [] : [this.beside.platform])];
  }

  get processes(): number {
    return this.started;
  }

  /** The shard of an account, and the lane that has it by the table. */
  assignmentOf(accountId: string): Assignment {
    const shard = shardOf(accountId, this.plan.shards);
    return { shard, lane: this.database.shards.laneOf(shard), lost: this.database.restored };
  }

  /** The process that holds the shard of the account, and knows it. */
  holderOf(accountId: string): SimulatedService | undefined {
    return this.services.find(({ keeper, held, exitCode, stopping }) => {
      return keeper.state === 'held' && held.follows(accountId) && exitCode === undefined && !stopping;
    });
  }

  get services(): SimulatedService[] {
    return this.slots.filter((service) => service !== undefined);
  }

  /** Faults as the plan has them. */
  spoil(): void {
    const { plan, platform } = this;
    platform.stream.faults = plan.stream;
    platform.stream.congested = plan.congested;
    platform.http.faults = plan.reads;
    platform.bare.begin();
    platform.beginSurprises(drawSurprises(this.source(19), this.options.wishes?.odd === true));
    if (this.options.wishes?.setback === true) platform.bare.setBack = drawSetBack(this.source(23), this.clock, plan);
    this.database.faults = plan.database;
    this.knowFormerAccount();
    this.broker.faults = plan.broker;
    this.enemy = plan.enemy;
    const { commandPlan } = this;
    if (commandPlan === undefined) return;
    const { answerMs, refuseShare, capacity, writes } = commandPlan;
    platform.entry.faults = writes;
    platform.entered.venue.set({ answerMs, refuseShare, capacity });
  }

  /** In half of the runs: an account that is stored, and whose key pair is used no longer. */
  private knowFormerAccount(): void {
    const { formerAccount: accountId, streamOf } = this.platform.venue;
    if (accountId === undefined || happens(this.source(27), 0.5)) return;
    const stream = streamOf('account');
    const marks = { readUpTo: undefined, auditedUpTo: undefined };
    this.database.accounts.set(`${stream} ${accountId}`, { stream, accountId, isSim: true, sourceEpoch: 0, ...marks });
  }

  /** The run is ending: nobody starts a process again, and none crashes of itself. */
  end(): void {
    this.ending = true;
    this.points.end();
  }

  /**
   * A standby takes over from the database that lacks what was committed in the last `behindMs`.
   */
  loseCommits(behindMs: number): void {
    const { clock, database, journal, trace, watch } = this;
    const copy = database.copy();
    // Of the journal only halts are lost: no commands are sent in a run that loses commits.
    const halts = [...journal.halts];
    clock.after(behindMs, () => {
      trace.add('database', 'loses', `what followed batch ${copy.lanes.get(0)?.batch}`);
      database.restore(copy);
      journal.halts.splice(0, journal.halts.length, ...halts);
      // A generation is a number in the rows of lanes: before the first one there is none to begin,
      // and nothing was published that it could separate. The halts are put back all the same.
      if (copy.lanes.size > 0) this.haltOracle.lost(database.generation);
      watch.lost(database.log);
    });
  }

  /** Somebody halts or resumes at one of the processes, where no commands are sent. */
  stopSomething(): void {
    const running = this.services.filter(({ host, exitCode }) => !host.crashed && exitCode === undefined);
    if (running.length === 0) return;
    this.stops.stop(oneOf(this.stopping, running), oneOf(this.stopping, this.platform.accounts).id);
  }

  /**
   * The stored state of an open order is lost. The process that has it in memory ends in the same
   * instant, or goes on and does not notice.
   */
  damageSomething(random: Random): void {
    const { database, trace, clock } = this;
    const open = [...database.heads].filter(([, { status }]) => !isTerminal(status as OrderStatus));
    if (open.length === 0) return;
    const [key, { accountId }] = oneOf(random, open);
    trace.add('database', 'damages', key);
    database.damaged.add(key);
    const holder = this.slots.findIndex((service) => service?.held.follows(accountId));
    if (holder < 0 || happens(random, 0.5)) return;
    this.crash(holder);
    clock.after(random.next() * 3_000, () => this.startIn(holder));
  }

  /** A person asks for each account with a lost state to be read, as `RepairWorker` does it. */
  repairStates(): void {
    const { database, services, repairing } = this;
    for (const key of database.damaged) {
      const { stream, accountId } = database.heads.get(key) ?? {};
      const holder = services.find(({ held }) => accountId !== undefined && held.follows(accountId));
      if (stream === undefined || accountId === undefined || holder === undefined || repairing.has(accountId)) continue;
      repairing.add(accountId);
      holder.ingest.forgetOrders((of) => of === accountId);
      const look = holder.connectors.account(stream, accountId)?.lookAtAll({ atMs: 0 }, new AbortController().signal);
      void Promise.resolve(look).finally(() => repairing.delete(accountId));
    }
  }

  /** Halts that were answered and do not hold any more. */
  forgottenHalts(): string[] {
    const running = this.services.filter(
      ({ host, exitCode, stopping }) => !host.crashed && exitCode === undefined && !stopping,
    );
    return this.haltOracle.forgotten(
      running.map(({ host, commands }) => ({ name: host.name, halts: commands.operator.halts.list() })),
      this.database.generation,
    );
  }

  /**
   * As soon as the commits of one lane are the newest, and published, its process dies, and the
   * database comes back without them: none of those who live has seen them. The others go on, and
   * somebody starts the process again when its lane has long been finished.
   */
  loseUnseenCommits(): void {
    const { database, watch, trace, clock } = this;
    this.lonely = new LonelyLoss(
      () => database.copy(),
      (lane, rows) => {
        const slot = this.slots.findIndex((service) => service?.host.name === database.lanes.get(lane)?.holder);
        if (slot < 0 || this.services.length < 2) return false;
        trace.add('database', 'loses', `what only lane ${lane} committed`);
        this.crash(slot);
        database.restore(rows);
        watch.lost(database.log);
        clock.after(20_000, () => this.startIn(slot));
        return true;
      },
    );
  }

  /**
   * The database loses its last commits together with all who have seen them. Kafka is away for the
   * next ones, and some of them end before it comes back.
   */
  strandCommits(random: Random, awayMs: number): void {
    const { database, watch, trace, clock, broker } = this;
    const copy = database.copy();
    const again = (slot: number, withinMs: number) => {
      this.crash(slot);
      clock.after(random.next() * withinMs, () => this.startIn(slot));
    };
    clock.after(random.next() * 1_000, () => {
      trace.add('database', 'loses', 'what all who saw it take with them');
      for (const slot of this.slots.keys()) again(slot, 3_000);
      database.restore(copy);
      watch.lost(database.log);
      const untilMs = clock.monotonicMs() + awayMs;
      const stayAway = () => {
        broker.down = clock.monotonicMs() < untilMs;
        if (broker.down) clock.after(100, stayAway);
      };
      stayAway();
      for (let ends = 0; ends < 2; ends += 1)
        clock.after(random.next() * awayMs, () => again(below(random, this.slots.length), awayMs));
    });
  }

  /** A new process in a slot that has none. */
  startIn(slot: number): void {
    if (this.ending || this.slots[slot] !== undefined) return;
    this.started += 1;
    const host = new Host(`${'abcde'.charAt(slot)}${this.started}`, this.clock);
    const random = this.source(100 + this.started);
    const { journal, database, clock, points, haltOracle, commandWatch, fences } = this;
    const ofJournal = { journal, database, host, clock, points, haltOracle, commandWatch, fences };
    const deps = {
      host,
      random,
      database: this.databaseOf(host),
      publisher: this.broker.publisher(host),
      statePublisher: (lane: () => number) => this.broker.statePublisher(host, { lane }),
      publishersOf: (lane: number) => this.publishersOf(host, lane),
      weight: slot === 0 || this.options.wishes?.leaking === true ? 1 : oneOf(random, [1, 1, 1, 2, 0]),
      platform: this.platform,
      journal: journalClient({
        ...{ ...ofJournal, random: this.source(2000 + this.started) },
        checkpoint: () => (this.slots[slot]?.host === host ? this.checkpointOf(slot) : undefined),
      }),
      results: journalResults({ ...ofJournal, random: this.source(3000 + this.started), published: this.published }),
      resultPublisher: this.broker.publisher(host),
      // It names only what is committed, so it needs no lease.
      checkpointPublisher: this.broker.publisher(host, `${host.name}/checkpoint`),
      points,
      checkpoints: () => host.answer(this.broker.checkpoints()),
      noticePublished: (...seen: Parameters<MemoryDatabase['noticeLoss']>) =>
        host.answer(this.database.noticeLoss(...seen)),
      noticeCheckpoint: (...seen: Parameters<MemoryDatabase['noticeLoss']>) =>
        host.answer(this.database.noticeLoss(...seen)),
      credentials: this.loginsOf(this.platform, host),
      ...(this.beside !== undefined && {
        beside: { platform: this.beside.platform, credentials: this.loginsOf(this.beside.platform, host) },
      }),
      ...(this.links !== undefined && { links: this.links.of(host) }),
      log: this.logOf(host.name),
    };
    const service = new SimulatedService({ ...deps, ...this.options.bug?.deps?.(deps, this) }, this.settings);
    this.slots[slot] = service;
    this.trace.add(host.name, 'starts');
    service.start();
  }

  private loginsOf({ venue, tokens, accounts }: MemoryPlatform, host: Host): KnownLogins {
    return venue.credentials({ host, world: this.clock, tokens, accountIds: accounts.map(({ id }) => id) });
  }

  /** Only where halts may be lost: what is checkpointed is written to Kafka, too. */
  private checkpointOf(slot: number): CommitCheckpoint | undefined {
    return this.options.wishes?.forgetting === true ? this.slots[slot]?.lease.checkpoint : undefined;
  }

  /** The database as the process reaches it, and the fleet as it sees it. */
  private databaseOf(host: Host): DatabaseClient {
    const client = databaseClient(this.database, host, this.source(1000 + this.started));
    const random = this.source(4000 + this.started);
    const breach = (what: string) => this.pastBreaches.push(what);
    return { ...client, shards: misled(client.shards, () => this.enemy, { clock: host.clock, random, breach }) };
  }

  /** Those of a finisher: it has to hold its lane, as every sender. */
  private publishersOf(host: Host, lane: number) {
    const from = `${host.name}/finisher`;
    const own = this.broker.publisher(host, from);
    const states = this.broker.statePublisher(host, { lane: () => lane, from });
    const asHolder = <T>(send: () => Promise<T>): Promise<T> => {
      this.mustHoldLane(from, lane, this.database.holders.get(`${lane} ${from}`));
      return send();
    };
    return {
      checkpoint: this.broker.publisher(host, `${from}/checkpoint`),
      updates: { ...own, publish: (...sent: Parameters<typeof own.publish>) => asHolder(() => own.publish(...sent)) },
      states: { ...states, flush: (rows: Parameters<typeof states.flush>[0]) => asHolder(() => states.flush(rows)) },
    };
  }

  /** The process is gone between two of its steps, with all that it held. */
  crash(slot: number): void {
    const service = this.slots[slot];
    // An orchestrator of the run may still want to kill a process whose drain is slow.
    if (service === undefined || this.ending) return;
    this.trace.add(service.host.name, 'crashes');
    service.host.crash();
    this.leave(slot);
  }

  /** A crash at a named point; somebody starts the process again. */
  private crashAt(host: Host): void {
    const slot = this.slots.findIndex((service) => service?.host === host);
    if (slot < 0) return;
    this.crash(slot);
    this.clock.after(this.random.next() * 3_000, () => this.startIn(slot));
  }

  /** The process has ended, by whatever way. */
  leave(slot: number): void {
    const service = this.slots[slot];
    if (service !== undefined) this.pastBreaches.push(...service.uncovered);
    this.slots[slot] = undefined;
  }

  /** Every breach so far, wherever it was seen. */
  breaches(): string[] {
    return [
      ...this.watch.breaches,
      ...this.database.violations,
      ...this.broker.violations,
      ...this.pastBreaches,
      ...this.commandWatch.breaches,
      ...this.haltOracle.breaches,
      ...this.callers.breaches,
      ...this.results.breaches,
      ...this.platform.limit.breaches,
      ...this.checkpointed.breaches,
      ...this.services.flatMap(({ uncovered }) => uncovered),
    ];
  }

  /** A source of randomness for one part. */
  source(part: number): Random {
    return seededRandom(Math.imul(this.options.seed, 0x9e3779b1) ^ Math.imul(part + 1, 0x85ebca6b));
  }

  private observe(): void {
    const { trace, watch, database, broker, platform, journal, commandWatch } = this;
    journal.onCommitted = (command, before) => {
      const { commandId, state, version, attempts } = command;
      trace.add(
        'journal',
        'commits',
        `${commandId} version ${version} ${state} ${attempts.map((attempt) => attempt.state).join(' ')}`,
      );
      bindable(command, database.attempts);
      commandWatch.committed(command, before);
      this.haltOracle.committed(command, before);
    };
    platform.ledger.onLeft = (write) => {
      this.mustHold(write.from);
      commandWatch.left(write);
      this.haltOracle.left(write);
    };
    platform.ledger.onDone = (write) => commandWatch.done(write);
    database.onCommit = (batch, rows) => {
      this.commits += 1;
      trace.add(
        'database',
        'commits',
        `${batch.number} epoch ${batch.epoch} ${rows.map(({ payload }) => payload).join(' ')}`,
      );
      watch.committed(batch, rows);
      this.lonely?.committed(batch.lane, rows);
    };
    database.onGivenAnew = (...row) => watch.givenAnew(...row);
    broker.onAppend = (topic, row, from) => {
      trace.add(from, `to ${topic}`, row.payload);
      this.lonely?.appended(row);
      if (topic === 'checkpoint') this.checkpointed.checkpoint(row);
      else if (topic !== 'results') this.checkpointed.record(row, from);
      if (topic === 'results') this.results.appended(row, from);
      else if (topic !== 'checkpoint') watch.appended(topic, row, from);
    };
    broker.onSend = (from) => this.mustHold(from);
    for (const { stream, venue } of this.platforms) {
      const coverageOf = (socket: MemorySocket) => this.serviceOf(socket)?.coverageOf(venue);
      stream.onAcknowledged = (socket, name) => coverageOf(socket)?.acknowledged(socket, name);
      stream.onSent = (socket, name, text) => coverageOf(socket)?.sent(socket, name, text);
      stream.onSpoiled = (socket, name, text) => coverageOf(socket)?.inFlight.excuse(name, text);
      stream.onLeft = (socket) => coverageOf(socket)?.left(socket);
    }
  }

  /**
   * Who sends has been told lately that the lane is its own (docs/guarantees.md 24), by the
   * database's account and not by its own.
   */
  private mustHold(from: string): void {
    const service = this.services.find(({ host }) => host.name === from);
    if (service === undefined) return;
    const { lane, epoch } = service.lease;
    this.mustHoldLane(from, lane, this.database.renewals.get(`${lane} ${epoch}`));
  }

  private mustHoldLane(from: string, lane: number, renewedMs = Number.NEGATIVE_INFINITY): void {
    const { database, clock, settings } = this;
    const agoMs = clock.monotonicMs() - renewedMs;
    if (agoMs > settings.lease.actMs)
      this.pastBreaches.push(`${from} sends ${Math.round(agoMs)} ms behind its last renewal`);
    const holder = database.lanes.get(lane)?.holder;
    // A clock of the database that is set lets a lane expire early; one
    // that lost commits does not know its holder.
    if (holder !== undefined && holder !== from && this.databaseClockWasSet === false && !database.restored)
      this.pastBreaches.push(`${from} sends in lane ${lane}, which ${holder} holds`);
  }

  private serviceOf(socket: MemorySocket): SimulatedService | undefined {
    return this.services.find(({ host }) => host === socket.host);
  }

  private logOf(name: string): Logger {
    return this.trace.printing ? this.options.log.child({ who: name }) : this.options.log;
  }
}

/** By one to four minutes: all that time, what is shown from now on seems to be older. */
function drawSetBack(random: Random, clock: VirtualClock, { faultyMs }: FaultPlan): BareViews['setBack'] {
  const untilMs = clock.nowMs() + faultyMs * (0.2 + random.next() * 0.6);
  return { untilMs, aheadMs: 60_000 + Math.floor(random.next() * 180_000) };
}

/** What ingest can read of a command from the moment its attempt is there. */
function bindable({ commandId, request, callerRef, attempts }: Command, into: Map<string, Binding>): void {
  if (!makesOrder(request)) return;
  const { stream, accountId } = request;
  const side = request.kind === 'place' ? request.terms.side : null;
  const binding = { commandId, stream, accountId, side, ...(callerRef !== undefined && { callerRef }) };
  for (const { attemptId } of attempts) into.set(attemptId, binding);
}

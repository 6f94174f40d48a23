import type { Log } from '../../src/observability/log.ts';
import { type Random, seededRandom } from '../../src/runtime/random.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { databaseClient } from './database-client.ts';
import { drawFaultPlan, type FaultPlan } from './fault-plan.ts';
import { Host } from './host.ts';
import { MemoryBroker } from './memory-broker.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryPlatform } from './memory-platform.ts';
import type { MemorySocket } from './memory-socket.ts';
import { HostTokens } from './memory-tokens.ts';
import type { PlantedBug } from './planted-bug.ts';
import { SafetyWatch } from './safety-watch.ts';
import { drawSettings, type ServiceSettings } from './service-settings.ts';
import { SimulatedService } from './simulated-service.ts';
import { Trace } from './trace.ts';

export interface WorldOptions {
  readonly seed: number;
  /** Where each line of the trace goes. */
  readonly print?: (line: string) => void;
  /** The log of the services, beside the trace. */
  readonly log: Log;
  readonly bug?: PlantedBug;
}

/**
 * Everything of one run: a clock, a database, a broker, a platform, and up to two slots for processes of the service. Each part has a source of randomness of
 * its own, so that a change in one does not shuffle the draws of the others.
 */
export class World {
  readonly clock = new VirtualClock();
  readonly trace: Trace;
  readonly plan: FaultPlan;
  readonly settings: ServiceSettings;
  readonly database: MemoryDatabase;
  readonly databaseHost: Host;
  readonly broker: MemoryBroker;
  readonly platform: MemoryPlatform;
  readonly watch = new SafetyWatch();
  /** What draws the times and kinds of incidents. */
  readonly random: Random;
  /** The present process of each slot; undefined while there is none. */
  readonly slots: (SimulatedService | undefined)[];
  /** Breaches found in processes that are gone. */
  readonly pastBreaches: string[] = [];
  commits = 0;
  private started = 0;
  private readonly options: WorldOptions;

  constructor(options: WorldOptions) {
    const { seed, print } = options;
    this.options = options;
    this.trace = new Trace(this.clock, print);
    this.random = this.source(0);
    this.plan = drawFaultPlan(this.source(1));
    this.settings = drawSettings(this.source(2));
    this.databaseHost = new Host('database', this.clock);
    this.database = new MemoryDatabase(this.databaseHost.clock, this.source(3));
    this.broker = new MemoryBroker(this.clock, this.source(4));
    this.platform = new MemoryPlatform({ clock: this.clock, random: this.source(5), trace: this.trace }, this.plan.platform);
    this.platform.http.pageSize = this.plan.pageSize;
    this.slots = Array.from({ length: this.plan.instances }, () => undefined);
    this.trace.add('world', 'seed', String(seed));
    this.observe();
  }

  get processes(): number {
    return this.started;
  }

  get services(): SimulatedService[] {
    return this.slots.filter((service) => service !== undefined);
  }

  /** Faults as the plan has them. */
  spoil(): void {
    const { plan, platform } = this;
    platform.stream.faults = plan.stream;
    platform.http.faults = plan.reads;
    this.database.faults = plan.database;
    this.broker.faults = plan.broker;
  }

  /** A new process in a slot that has none. */
  startIn(slot: number): void {
    if (this.slots[slot] !== undefined) return;
    this.started += 1;
    const host = new Host(`${'ab'.charAt(slot)}${this.started}`, this.clock);
    const random = this.source(100 + this.started);
    const deps = {
      host,
      random,
      database: databaseClient(this.database, host, this.source(1000 + this.started)),
      publisher: this.broker.publisher(host),
      statePublisher: this.broker.statePublisher(host),
      platform: this.platform,
      tokens: new HostTokens({ host, world: this.clock, tokens: this.platform.tokens }),
      log: this.logOf(host.name),
    };
    const service = new SimulatedService({ ...deps, ...this.options.bug?.deps?.(deps, this) }, this.settings);
    this.slots[slot] = service;
    this.trace.add(host.name, 'starts');
    service.start();
  }

  /** The process is gone between two of its steps, with all that it held. */
  crash(slot: number): void {
    const service = this.slots[slot];
    if (service === undefined) return;
    this.trace.add(service.host.name, 'crashes');
    service.host.crash();
    this.leave(slot);
  }

  /** The process has ended, by whatever way. */
  leave(slot: number): void {
    const service = this.slots[slot];
    if (service !== undefined) this.pastBreaches.push(...service.coverage.breaches);
    this.slots[slot] = undefined;
  }

  /** Every breach so far, wherever it was seen. */
  breaches(): string[] {
    return [
      ...this.watch.breaches,
      ...this.database.violations,
      ...this.broker.violations,
      ...this.pastBreaches,
      ...this.services.flatMap(({ coverage }) => coverage.breaches),
    ];
  }

  /** A source of randomness for one part. */
  source(part: number): Random {
    return seededRandom(Math.imul(this.options.seed, 0x9e3779b1) ^ Math.imul(part + 1, 0x85ebca6b));
  }

  private observe(): void {
    const { trace, watch, database, broker, platform } = this;
    database.onCommit = (batch, rows) => {
      this.commits += 1;
      trace.add('database', 'commits', `${batch.number} epoch ${batch.epoch} ${rows.map(({ payload }) => payload).join(' ')}`);
      watch.committed(batch, rows);
    };
    broker.onAppend = (topic, row, from) => {
      trace.add(from, `to ${topic}`, row.payload);
      watch.appended(topic, row, from);
    };
    broker.onSend = (from) => this.mustHold(from);
    platform.stream.onAcknowledged = (socket, name) => this.serviceOf(socket)?.coverage.acknowledged(socket, name);
    platform.stream.onLeft = (socket) => this.serviceOf(socket)?.coverage.left(socket);
  }

  /** Who sends has been told lately that the lane is its own (invariants.md 24), by the database's account and not by its own. */
  private mustHold(from: string): void {
    const service = this.services.find(({ host }) => host.name === from);
    if (service === undefined) return;
    const agoMs = this.clock.monotonicMs() - (this.database.renewals.get(service.lease.epoch) ?? Number.NEGATIVE_INFINITY);
    if (agoMs > this.settings.lease.actMs)
      this.pastBreaches.push(`${from} sends ${Math.round(agoMs)} ms behind its last renewal`);
  }

  private serviceOf(socket: MemorySocket): SimulatedService | undefined {
    return this.services.find(({ host }) => host === socket.host);
  }

  private logOf(name: string): Log {
    return this.trace.printing ? this.options.log.child({ who: name }) : this.options.log;
  }
}

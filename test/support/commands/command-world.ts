import { expect, onTestFinished } from 'vitest';
import type { Command, CommandRequest } from '../../../src/domain/command.ts';
import type { Order, Stream } from '../../../src/domain/order.ts';
import type { ExchangeOrder } from '../../../src/sandbox/exchange/exchange-order.ts';
import { expireOrder, takeEndBack } from '../../../src/sandbox/exchange/venue-steps.ts';
import type { Answer } from '../../../src/service/commands/answer.ts';
import { type CommandOptions, commandDefaults } from '../../../src/service/commands/command-options.ts';
import type { Journaled, Submission } from '../../../src/service/commands/commands.ts';
import type { SimulatedService } from '../../simulation/simulated-service.ts';
import { SimulatedWorld } from '../../simulation/simulated-world.ts';
import type { MemoryPlatform } from '../../simulation/world/memory-platform.ts';
import type { LedgerWrite } from '../../simulation/write-ledger.ts';
import { LyingReads } from '../platform/lying-reads.ts';
import { silentLog } from '../runs/silent-log.ts';
import { outcomeUnknown, ScriptedEntry, type WriteScript } from './scripted-entry.ts';

export const account = 'acct-1';

export const equity = {
  kind: 'place',
  stream: 'account',
  accountId: account,
  terms: { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'GTC', price: '200' },
} as const satisfies CommandRequest;

export const prediction = {
  kind: 'place',
  stream: 'prediction',
  accountId: account,
  terms: {
    symbol: 'FED-CUT-DEC26',
    outcome: 'YES',
    side: 'buy',
    orderType: 'limit',
    timeInForce: 'gtc',
    quantity: '10',
    price: '0.4',
  },
} as const satisfies CommandRequest;

type PredictionReplace = Extract<CommandRequest, { kind: 'replace' }> & { stream: 'prediction' };

interface CommandWorldOptions {
  readonly commands?: Partial<CommandOptions>;
  /** Far away unless the case is about it: an audit would find what the resolver is to find. */
  readonly auditMs?: number;
}

const day = 86_400_000;
const never = { point: 'line_open', time: 1e9 } as const;

/**
 * The simulator's world with a script in place of its dice: the service as it is assembled
 * (connectors, ingest, relay, lane, commands with resolver), on a virtual clock, against the
 * sandbox's own exchange and order entry in memory. What the simulator holds against every run is
 * held against every case at its end.
 */
export class CommandWorld {
  readonly simulated: SimulatedWorld;
  readonly entry: ScriptedEntry;
  readonly reads: LyingReads;
  private keys = 0;

  /** With one process that holds the lane and follows every account. */
  static async start(options: CommandWorldOptions = {}): Promise<CommandWorld> {
    const world = new CommandWorld(options);
    await world.boot();
    onTestFinished(() => expect(world.simulated.breaches()).toEqual([]));
    return world;
  }

  private constructor({ commands = {}, auditMs = day }: CommandWorldOptions) {
    const bug = {
      name: 'none: other parts for the service',
      shows: /^$/,
      deps: () => ({ platform: this.platform }),
    };
    this.simulated = new SimulatedWorld({ seed: 1, log: silentLog, bug, wishes: { crash: never } });
    const { platform, clock, settings } = this.simulated;
    Object.assign(settings.commands, commandDefaults, { haltAt: { account: 100, service: 100 } }, commands);
    Object.assign(settings.timings, { auditMs });
    this.entry = new ScriptedEntry({ platform, clock });
    this.reads = new LyingReads({ platform, clock });
    platform.entered.venue.set({ answerMs: 5, refuseShare: 0, capacity: 1000 });
  }

  get clock() {
    return this.simulated.clock;
  }

  get platform(): MemoryPlatform {
    return Object.create(this.simulated.platform, {
      entry: { value: this.entry },
      http: { value: this.reads },
    }) as MemoryPlatform;
  }

  get exchange() {
    return this.simulated.platform.exchange;
  }

  get service(): SimulatedService {
    const [service] = this.simulated.services;
    if (service === undefined) throw new Error('no process runs');
    return service;
  }

  /** Starts a process and waits until it may send. */
  async boot(): Promise<void> {
    this.simulated.startIn(0);
    const live = () => ['account', 'prediction'].every((stream) => this.liveOn(stream as Stream));
    if (!(await this.clock.advanceUntil(live, 120_000))) throw new Error('it is not live');
    await this.pass(500);
  }

  /** The process is gone, with all that it held, and another one comes. */
  async restart(): Promise<void> {
    this.simulated.crash(0);
    await this.boot();
  }

  pass(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  async until(done: () => boolean, limitMs = 60_000): Promise<void> {
    if (!(await this.clock.advanceUntil(done, limitMs)))
      throw new Error(`it does not come to pass within ${limitMs} ms`);
  }

  /** What the platform does with the next writes, in their order. */
  script(...scripts: WriteScript[]): void {
    this.entry.scripts.push(...scripts);
  }

  async submit(request: CommandRequest, over: Partial<Submission> = {}): Promise<Answer<Journaled>> {
    this.keys += 1;
    const key = `key-${this.keys}`;
    const asked = this.service.commands.submit({
      principal: 'desk',
      idempotencyKey: key,
      requestId: `request-${this.keys}`,
      request,
      ...over,
    });
    let result: Answer<Journaled> | undefined;
    void asked.then((answer) => {
      result = answer;
    });
    await this.until(() => result !== undefined);
    return asked;
  }

  /** Expects it to be journaled, and returns the command as it was answered. */
  async send(request: CommandRequest, over: Partial<Submission> = {}): Promise<Command> {
    const result = await this.submit(request, over);
    if (result.kind !== 'journaled') throw new Error(`declined: ${result.code} ${result.message}`);
    return result.command;
  }

  async declined(request: CommandRequest, over: Partial<Submission> = {}): Promise<string> {
    const result = await this.submit(request, over);
    if (result.kind === 'journaled') throw new Error(`journaled as ${result.command.state}`);
    return result.code;
  }

  /** A placed order that works at the venue, its command applied. */
  async working(request: CommandRequest = prediction): Promise<{ command: Command; order: ExchangeOrder }> {
    const { commandId } = await this.send(request);
    await this.until(() => this.command(commandId).state === 'applied');
    const order = this.landed(commandId);
    await this.until(() => order.state === 'new' && this.stored(order).status === 'new');
    return { command: this.command(commandId), order };
  }

  /** A replace whose answer is lost, and which the venue leaves pending. */
  async sendPendingReplace({ terms: { orderId } }: ExchangeOrder, terms: PredictionReplace['terms']) {
    this.simulated.platform.entered.venue.set({ answerMs: 'manual' });
    this.script({ applied: 'yes', answer: outcomeUnknown });
    const replace: PredictionReplace = { kind: 'replace', stream: 'prediction', accountId: account, orderId, terms };
    const { commandId } = await this.send(replace);
    return { commandId, replace };
  }

  /** As the journal has it now. */
  command(commandId: string): Command {
    const command = this.simulated.journal.commands.get(commandId);
    if (command === undefined) throw new Error(`there is no command ${commandId}`);
    return command;
  }

  evidenceCodes(commandId: string): string[] {
    return (this.simulated.journal.evidence.get(commandId) ?? []).map(({ code }) => code);
  }

  /**
   * The order that the platform has under the references of a command. Throws when there is none.
   */
  landed(commandId: string): ExchangeOrder {
    const [order, ...more] = this.ordersOf(commandId);
    if (order === undefined || more.length > 0)
      throw new Error(`the platform has ${order === undefined ? 0 : more.length + 1} orders`);
    return order;
  }

  ordersOf(commandId: string): ExchangeOrder[] {
    return this.command(commandId).attempts.flatMap(({ attemptId }) => this.exchange.byClientReference(attemptId));
  }

  /** Every write that left, by whichever process. */
  get writes(): readonly LedgerWrite[] {
    return this.simulated.platform.ledger.writes;
  }

  /** An order whose end we know, and the platform has taken back without a word to us. */
  async endedAndTakenBack(request: CommandRequest): Promise<ExchangeOrder> {
    const { order } = await this.working(request);
    expireOrder(this.exchange, order);
    await this.until(() => this.stored(order).status === 'expired');
    const { stream } = this.simulated.platform;
    const emit = stream.emit.bind(stream);
    stream.emit = () => undefined;
    takeEndBack(this.exchange, order);
    stream.emit = emit;
    return order;
  }

  /** The order as the database has it. */
  stored({ terms }: ExchangeOrder): Order {
    const row = this.simulated.database.heads.get(`${terms.stream}:${terms.orderId}`);
    if (row === undefined) throw new Error(`${terms.orderId} is not stored`);
    return JSON.parse(row.state) as Order;
  }

  isStored({ terms }: ExchangeOrder): boolean {
    return this.simulated.database.heads.has(`${terms.stream}:${terms.orderId}`);
  }

  /** The updates of an order as they go to Kafka. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came, as a consumer would
  updates({ terms }: ExchangeOrder): any[] {
    return this.simulated.database.log
      .filter(({ orderId }) => orderId === terms.orderId)
      .map(({ payload }) => JSON.parse(payload));
  }

  private liveOn(stream: Stream): boolean {
    const source = this.service.connectors.status().find((each) => each.stream === stream);
    return source?.accounts.some(({ accountId, state }) => accountId === account && state === 'live') === true;
  }
}

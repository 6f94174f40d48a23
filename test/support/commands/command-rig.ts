import type { Command, CommandRequest, Evidence } from '../../../src/domain/command.ts';
import type { CommittedBatch } from '../../../src/domain/committed-batch.ts';
import type { Quote, Quoted } from '../../../src/domain/measure-command.ts';
import type { Order } from '../../../src/domain/order.ts';
import type { BoundOrder, ResolvingUpdate } from '../../../src/domain/resolving.ts';
import { traits } from '../../../src/domain/streams.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import type { Tracing } from '../../../src/observability/tracing.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { SharedClock } from '../../../src/runtime/shared-clock.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { type CommandOptions, commandDefaults } from '../../../src/service/commands/command-options.ts';
import { CommandService } from '../../../src/service/commands/command-service.ts';
import type { Submission } from '../../../src/service/commands/commands.ts';
import type { OrderEntry, Quotes } from '../../../src/service/commands/order-entry.ts';
import type {
  AccountAccess,
  AccountLook,
  AccountStanding,
  FollowedAccounts,
} from '../../../src/service/sources/account-access.ts';
import type { ReadBudget } from '../../../src/venue/order-reads.ts';
import type { Purpose } from '../../../src/venue/request-budget.ts';
import type { WriteOptions, WriteResult } from '../../../src/venue/write-result.ts';
import { equityView, instantAt, predictionView } from '../orders/arbitrary-orders.ts';
import { silentLog } from '../runs/silent-log.ts';
import { VirtualClock } from '../runs/virtual-clock.ts';
import { type RigJournal, rigJournal } from './rig-journal.ts';
import { payloadOf, type RigOrders } from './rig-orders.ts';

/** One write as the platform's door sees it. */
interface Sent {
  readonly request: CommandRequest;
  readonly attemptId: string;
  /** Virtual milliseconds since the rig began. */
  readonly atMs: number;
}

/** What the entry does with one attempt. */
export interface EntryScript {
  /** Before the write is asked for. A result: it never gets to asking. */
  readonly connect?: { readonly ms?: number; readonly result?: WriteResult };
  readonly answerMs?: number;
  readonly result: WriteResult | ((sent: Sent) => WriteResult);
}

export const accepted: WriteResult = { kind: 'accepted', answer: { status: 202 } };
export const unknown: WriteResult = {
  kind: 'unknown',
  reason: { code: 'REQUEST_OUTCOME_UNKNOWN', message: 'unknown', status: 504 },
};
export const atCapacity: WriteResult = {
  kind: 'not_sent',
  reason: { code: 'ORDER_ENTRY_AT_CAPACITY', message: 'busy', status: 429 },
  mayRepeat: true,
};
export const refused = (status: number, staleToken?: true): WriteResult => ({
  kind: 'refused',
  reason: { code: `HTTP_${status}`, message: 'no', status },
  ...(staleToken && { staleToken }),
});

/**
 * The port of order entry by a script (`ScriptedEntry` scripts the platform
 * behind it), one entry an attempt; beyond it every attempt is accepted. Nothing
 * is written that `mayWrite` did not allow.
 */
export class RigEntry implements OrderEntry {
  readonly scripts: EntryScript[] = [];
  /** What becomes of this one whatever the scripts say; undefined: they say. */
  route: (request: CommandRequest) => EntryScript | undefined = () => undefined;
  readonly sent: Sent[] = [];
  /** Its process stands still for so long between the permission and the write. */
  sleepsMs = 0;
  slept = false;
  /** Told in the instant of the write. */
  onWrite: (sent: Sent) => void = () => {};
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  async send(
    request: CommandRequest,
    attemptId: string,
    { mayWrite, mayStillWrite, signal }: WriteOptions,
  ): Promise<WriteResult> {
    const { connect, answerMs = 5, result } = this.route(request) ?? this.scripts.shift() ?? { result: accepted };
    await this.clock.sleep(connect?.ms ?? 1);
    if (connect?.result !== undefined) return connect.result;
    const may = await mayWrite();
    if (this.sleepsMs > 0) {
      this.slept = true;
      await this.clock.sleep(this.sleepsMs);
    }
    if (!may || !mayStillWrite())
      return { kind: 'not_sent', reason: { code: 'NOT_PERMITTED', message: 'no' }, mayRepeat: false };
    const sent = { request, attemptId, atMs: this.clock.monotonicMs() };
    this.sent.push(sent);
    this.onWrite(sent);
    await this.clock.sleep(answerMs, signal);
    if (signal.aborted) return unknown;
    return typeof result === 'function' ? result(sent) : result;
  }
}

interface Asked {
  readonly kind: 'reference' | 'account' | 'open' | 'order';
  readonly accountId: string;
  readonly id?: string;
  readonly atMs: number;
  readonly sinceMs?: number | undefined;
  /** What its requests are for, where the caller says it. */
  readonly purpose?: Purpose;
}

type Answer = (asked: Asked) => AccountLook | Promise<AccountLook>;

/**
 * How every account stands. `mayAppear`: it is not followed yet,
 * because the accounts have not been listed.
 */
type RigStanding = Pick<AccountAccess, 'live' | 'isSim' | 'certain' | 'notEnrolled'> & {
  readonly known: boolean;
  readonly mayAppear?: boolean;
};

export function failedLook(message: string): AccountLook {
  return { complete: false, error: { message, retryable: true, sent: 'yes' } };
}

/** The looks at any account: complete, certain and empty-handed unless told otherwise. */
export class RigProbes implements FollowedAccounts {
  readonly asked: Asked[] = [];
  now: RigStanding = { known: true, live: true, isSim: true, certain: true, notEnrolled: false };
  /** As the platform lists every account. */
  standingNow: AccountStanding | undefined = { isOpen: true, status: 'OPEN' };
  answer: Answer = () => this.complete();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  complete(...shown: string[]): AccountLook {
    return { complete: true, startedAtMs: this.clock.nowMs(), certain: this.now.certain, shown };
  }

  readonly streams = ['account', 'prediction'] as const;

  get hasListed(): boolean {
    return this.now.mayAppear !== true;
  }

  standing(): AccountStanding | undefined {
    return this.standingNow;
  }

  account(_stream: string, accountId: string): AccountAccess | undefined {
    const { known, live, isSim, certain, notEnrolled } = this.now;
    if (!known) return undefined;
    const ask = (kind: Asked['kind'], more: Pick<Asked, 'id' | 'sinceMs'>, budget?: ReadBudget) =>
      this.ask({
        kind,
        accountId,
        atMs: this.clock.monotonicMs(),
        ...more,
        ...(budget && { purpose: budget.purpose }),
      });
    return {
      ...{ live, isSim, certain, notEnrolled },
      lookFor: (id, _signal, budget) => ask('reference', { id }, budget),
      lookAtAll: (since, _signal, budget) => ask('account', { sinceMs: since?.atMs }, budget),
      lookAtOpen: (_signal, budget) => ask('open', {}, budget),
      lookAt: (id, _signal, budget) => ask('order', { id }, budget),
      expectReply: () => () => {},
    };
  }

  private async ask(asked: Asked): Promise<AccountLook> {
    this.asked.push(asked);
    const result = await this.answer(asked);
    await this.clock.sleep(1);
    return result;
  }
}

/** The platform's quotes: none unless a test has set them. */
export class RigQuotes implements Quotes {
  readonly asked: Quoted[] = [];
  now: Quote | undefined;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  async lastQuote(_accountId: string, of: Quoted): Promise<Quote | undefined> {
    this.asked.push(of);
    await this.clock.sleep(1);
    return this.now;
  }
}

export const placeEquity = {
  kind: 'place',
  stream: 'account',
  accountId: 'acct-1',
  terms: { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', price: '191.5' },
} as const satisfies CommandRequest;
export const placePrediction = {
  kind: 'place',
  stream: 'prediction',
  accountId: 'acct-1',
  terms: {
    symbol: 'FED-CUT',
    outcome: 'YES',
    side: 'buy',
    orderType: 'limit',
    timeInForce: 'gtc',
    quantity: '10',
    price: '0.4',
  },
} as const satisfies CommandRequest;
export const workingOrder: Order = { ...predictionView, orderId: 'order-1', origin: 'tidemark' };
export const replaceWorking = {
  kind: 'replace',
  stream: 'prediction',
  accountId: 'acct-1',
  orderId: 'order-1',
  terms: { price: '0.5' },
} as const satisfies CommandRequest;
export const cancelWorking = {
  kind: 'cancel',
  stream: 'prediction',
  accountId: 'acct-1',
  orderId: 'order-1',
} as const satisfies CommandRequest;
export const word = { by: 'olga', reason: 'looked it up at the venue', requestId: 'request-op' };

interface RigOptions extends Partial<CommandOptions> {
  /** Those that it takes, without `shardOf` all accounts are of the first one. */
  readonly shards?: readonly number[];
  /** The wall clock of the process, ahead of the journal's. May be changed by its owner. */
  readonly ahead?: { ms: number };
  /** It goes by the journal's clock all the same, as processes do. */
  readonly sharedClock?: true;
  readonly shardOf?: (accountId: string) => number;
  /** How much of all shards that is. */
  readonly part?: () => number;
  /** Made with the clock of the rig; left out: traces are off. */
  readonly tracing?: (clock: VirtualClock) => Tracing;
  /** Asked before something that the journal lacks is written again. */
  readonly noticeLost?: (seen: object) => Promise<void>;
}

/** One process: its commands with ports by script around one journal that outlives it. */
export class CommandRig {
  readonly clock: VirtualClock;
  readonly journal: RigJournal;
  readonly orders: RigOrders;
  readonly entry: RigEntry;
  readonly probes: RigProbes;
  readonly quotes: RigQuotes;
  readonly lease: Lease;
  readonly metrics = createMetrics();
  readonly commands: CommandService;
  readonly shards: readonly number[];
  epoch = 0n;
  private readonly seed: number;
  private keys = 0;
  private batches = 0n;

  /** `beside`: shares clock, journal and orders with another process. */
  constructor(options: RigOptions = {}, beside?: CommandRig, seed = (beside?.seed ?? 0) + 1) {
    const {
      shards = [0],
      ahead,
      sharedClock,
      shardOf = () => shards[0] ?? 0,
      part,
      tracing,
      noticeLost,
      ...over
    } = options;
    this.seed = seed;
    this.shards = shards;
    this.clock = beside?.clock ?? new VirtualClock(Date.parse('2026-11-21T12:00:00Z'));
    this.journal = beside?.journal ?? rigJournal(this.clock);
    this.orders = this.journal.orders;
    this.entry = new RigEntry(this.clock);
    const own = ahead === undefined ? this.clock : aheadOf(this.clock, ahead);
    this.probes = new RigProbes(own);
    this.quotes = new RigQuotes(this.clock);
    this.lease = new Lease(this.clock, 1e12);
    const { journal, entry, probes, quotes, lease } = this;
    const clock = sharedClock === undefined ? own : new SharedClock(own);
    if (clock instanceof SharedClock) void clock.read(async () => this.journal.nowMs());
    this.commands = new CommandService(
      {
        clock,
        journal,
        entry,
        accounts: probes,
        quotes,
        shardOf,
        ...(part !== undefined && { part }),
        ...(noticeLost !== undefined && { noticeLost }),
        lease,
        random: seededRandom(seed),
        metrics: this.metrics.commands,
        log: silentLog,
        tracing: tracing?.(this.clock),
      },
      { ...commandDefaults, enabled: true, accounts: [], ...over },
    );
  }

  static async leading(options: RigOptions = {}, beside?: CommandRig, seed?: number): Promise<CommandRig> {
    const rig = new CommandRig(options, beside, seed);
    await rig.begin((beside?.epoch ?? 0n) + 1n);
    return rig;
  }

  async begin(epoch: bigint): Promise<void> {
    this.epoch = epoch;
    this.lease.confirm(epoch, this.clock.monotonicMs());
    await this.during(Promise.all(this.shards.map((shard) => this.commands.begin({ shard, epoch }))));
  }

  /** What a promise of the commands comes to, letting as much time pass as it takes. */
  async during<T>(work: Promise<T>, limitMs = 120_000): Promise<T> {
    let over = false;
    const mark = () => {
      over = true;
    };
    work.then(mark, mark);
    if (!(await this.clock.advanceUntil(() => over, limitMs))) throw new Error(`it does not end within ${limitMs} ms`);
    return work;
  }

  submission(request: CommandRequest, over: Partial<Submission> = {}): Submission {
    this.keys += 1;
    return {
      principal: 'desk',
      idempotencyKey: `key-${this.epoch}-${this.keys}`,
      requestId: `request-${this.keys}`,
      request,
      ...over,
    };
  }

  submit(request: CommandRequest, over: Partial<Submission> = {}): ReturnType<CommandService['submit']> {
    return this.during(this.commands.submit(this.submission(request, over)));
  }

  async send(request: CommandRequest, over: Partial<Submission> = {}): Promise<Command> {
    const result = await this.submit(request, over);
    if (result.kind !== 'journaled') throw new Error(`declined: ${result.code} ${result.message}`);
    return result.command;
  }

  async declined(request: CommandRequest, over: Partial<Submission> = {}): Promise<string> {
    const result = await this.submit(request, over);
    if (result.kind !== 'declined') throw new Error(`journaled as ${result.command.state}`);
    return result.code;
  }

  /** The database has lost all that followed the opening of a command, which was being sent. */
  loseSteps(commandId: string): void {
    this.journal.force('delete from journal where command_id = $1 and version > 1', [commandId]);
    this.journal.force(
      `insert into open_commands select account_id, command_id, shard, 'open' from journal where command_id = $1 and number = 1 on conflict do nothing`,
      [commandId],
    );
  }

  /** As the journal has it. */
  command(commandId: string): Command {
    const command = this.journal.command(commandId);
    if (command === undefined) throw new Error(`there is no command ${commandId}`);
    return command;
  }

  state(commandId: string): string {
    return this.command(commandId).state;
  }

  evidence(commandId: string): readonly Evidence[] {
    return this.journal.evidence(commandId);
  }

  codes(commandId: string): string[] {
    return this.evidence(commandId).map(({ code }) => code);
  }

  /**
   * A revision as ingest commits it: in the journal's reads at once, and handed over unless
   * `handed` is false. `binds`: also where it is not the first.
   */
  commit(
    order: Order,
    over: Partial<ResolvingUpdate> & { commandId?: string; handed?: boolean; binds?: boolean } = {},
  ): void {
    const { commandId, handed = true, binds = false, ...rest } = over;
    const held = this.orders.revision(order.stream, order.orderId);
    const revision = rest.revision ?? held + 1;
    const sourceVersion = order.stream === 'prediction' ? (rest.sourceVersion ?? BigInt(revision) * 10n) : undefined;
    const update: ResolvingUpdate = {
      revision,
      sourceEpoch: rest.sourceEpoch ?? 0,
      ...(sourceVersion !== undefined && { sourceVersion }),
      cause: rest.cause ?? 'stream',
      order: { ...order, updatedAt: instantAt(revision) },
    };
    this.orders.add(update);
    const reference = order[traits[order.stream].reference];
    const bound =
      (held === 0 || binds) && commandId !== undefined && reference !== undefined
        ? { attemptId: reference, commandId, orderId: order.orderId, matches: order.commandId === commandId }
        : undefined;
    if (bound !== undefined) this.orders.bind(bound, order.stream);
    if (handed) this.commands.followCommitted(this.batchOf(update, commandId ?? order.commandId, bound));
    else this.commands.missedCommitted();
  }

  /** The order that an attempt of a place has made, at its first revision. */
  land(commandId: string, over: Partial<Order> = {}, attempt?: number): Order {
    const order = this.landed(commandId, over, attempt);
    this.commit(order, { commandId });
    return order;
  }

  landed(commandId: string, over: Partial<Order> = {}, attempt = -1): Order {
    const { request, attempts } = this.command(commandId);
    const reference = attempts.at(attempt)?.attemptId ?? '';
    if (request.stream === 'account')
      return { ...equityView, orderId: `of-${commandId}`, origin: 'tidemark', commandId, clOrdId: reference, ...over };
    return {
      ...predictionView,
      orderId: `of-${commandId}`,
      origin: 'tidemark',
      commandId,
      clientOrderRef: reference,
      ...over,
    };
  }

  private batchOf(update: ResolvingUpdate, commandId: string | undefined, bound?: BoundOrder): CommittedBatch {
    const { order } = update;
    this.batches += 1n;
    const payload = payloadOf(update);
    const { accountId } = order;
    const row = { topic: 'updates' as const, key: `${order.stream}:${order.orderId}`, payload, accountId };
    const rows = [{ ...row, ...(commandId !== undefined && { commandId }), ...(bound && { bound }) }];
    const { batches: number } = this;
    return {
      number,
      lastSeq: number,
      rows,
      receivedMs: [0],
      streams: [order.stream],
      committedMs: 0,
      bytes: payload.length,
    };
  }
}

function aheadOf(clock: VirtualClock, ahead: { readonly ms: number }): Clock {
  return {
    nowMs: () => clock.nowMs() + ahead.ms,
    monotonicMs: () => clock.monotonicMs(),
    after: (...after) => clock.after(...after),
    sleep: (...sleep) => clock.sleep(...sleep),
    turn: () => clock.turn(),
  };
}

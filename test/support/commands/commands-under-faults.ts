import { expect } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { Answer } from '../../../src/service/commands/answer.ts';
import { commandDefaults } from '../../../src/service/commands/command-options.ts';
import { CommandService } from '../../../src/service/commands/command-service.ts';
import type {
  HaltsNow,
  Journaled,
  OperatorWord,
  Requested,
  Submission,
} from '../../../src/service/commands/commands.ts';
import type { OrderEntry } from '../../../src/service/commands/order-entry.ts';
import type { CommandJournal } from '../../../src/store/commands/command-journal.ts';
import type { Halt } from '../../../src/store/commands/halts-journal.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import type { WriteOptions, WriteResult } from '../../../src/venue/write-result.ts';
import { predictionView } from '../orders/arbitrary-orders.ts';
import { eventually } from '../runs/poll.ts';
import { silentLog } from '../runs/silent-log.ts';
import { drawFault, type FaultedDatabase, faultedDatabase, pick } from '../servers/faulted-database.ts';
import { expectTruth } from './answers-were-true.ts';
import { accepted, atCapacity, placeEquity, RigProbes, RigQuotes, refused, unknown } from './command-rig.ts';
import { type JournalRig, journalRig, takingJournal } from './journal-rig.ts';

interface Written {
  readonly attemptId: string;
  readonly kind: CommandRequest['kind'];
  readonly accountId: string;
  readonly atMs: number;
  /** Whether the platform did, or may have done, what was written. */
  readonly taken: boolean;
}

/** Order entry with a ledger of all that was written, which draws its answers. */
class LedgerEntry implements OrderEntry {
  readonly ledger: Written[] = [];
  private readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  async send({ kind, accountId }: CommandRequest, attemptId: string, options: WriteOptions): Promise<WriteResult> {
    if (!(await options.mayWrite()) || !options.mayStillWrite())
      return { kind: 'not_sent', reason: { code: 'NOT_PERMITTED', message: 'no' }, mayRepeat: false };
    const result = pick(this.random, [
      accepted,
      accepted,
      accepted,
      accepted,
      unknown,
      unknown,
      atCapacity,
      refused(400),
    ]);
    const taken = result.kind === 'accepted' || result.kind === 'unknown';
    this.ledger.push({ attemptId, kind, accountId, atMs: systemClock.monotonicMs(), taken });
    await systemClock.sleep(5);
    return result;
  }
}

interface Said {
  readonly submission: Submission;
  readonly result: Answer<Journaled>;
}

interface StopSaid {
  readonly action: 'halt' | 'resume';
  readonly scope: Halt['scope'];
  readonly kind: Answer<HaltsNow | Requested>['kind'];
  readonly askedMs: number;
  readonly answeredMs: number;
}

const options = {
  ...commandDefaults,
  ...{
    enabled: true,
    accounts: [],
    haltAnswerMs: 200,
    deadlineMs: 3_000,
    sweepEveryMs: 1_000,
    landingSweepEveryMs: 600_000,
  },
  ...{ haltAt: { account: 1_000, service: 1_000 }, rate: { perSecond: 1_000, burst: 1_000 } },
};

const accounts = ['acct-1', 'acct-2'] as const;

/** Puts a bug into the command side. */
export type Plant = (journal: CommandJournal) => CommandJournal;

interface ProcessParts {
  readonly database: FaultedDatabase;
  readonly entry: OrderEntry;
  readonly random: Random;
  readonly fourEyes: boolean;
  readonly plant: Plant;
}

/**
 * One process of the command side over a database with faults: what
 * it said to its callers, and what it wrote.
 */
class Process {
  readonly commands: CommandService;
  private readonly lease = new Lease(systemClock, 1e9);

  constructor({ database, entry, random, fourEyes, plant }: ProcessParts) {
    const probes = new RigProbes(systemClock);
    this.commands = new CommandService(
      {
        clock: systemClock,
        journal: plant(
          takingJournal(database.pool, createPostgresJournal({ pool: database.pool, clock: systemClock, random })),
        ),
        entry,
        accounts: probes,
        quotes: new RigQuotes(systemClock),
        shardOf: () => 0,
        lease: this.lease,
        random,
        metrics: createMetrics().commands,
        log: silentLog,
      },
      { ...options, fourEyes },
    );
  }

  async begin(epoch: bigint): Promise<void> {
    this.lease.confirm(epoch, systemClock.monotonicMs());
    // As the service does: again until the journal could be taken over.
    await eventually(() => this.commands.begin({ shard: 0, epoch }));
    await this.commands.start();
  }
}

export class CommandsUnderFaults {
  readonly said: Said[] = [];
  readonly stops: StopSaid[] = [];
  readonly resolved: { readonly commandId: string; readonly result: string }[] = [];
  /** The bounds of which one is in force, as far as was said. */
  bounds: (string | undefined)[] = [undefined];
  readonly cancelAlls: { readonly key: string; readonly orders: string }[] = [];
  private keys = 0;
  readonly rig: JournalRig;
  readonly database: FaultedDatabase;
  readonly entry: LedgerEntry;
  process: Process;
  private readonly random: Random;
  private readonly parts: ProcessParts;

  constructor(rig: JournalRig, database: FaultedDatabase, random: Random, plant: Plant) {
    this.rig = rig;
    this.database = database;
    this.random = random;
    this.entry = new LedgerEntry(random);
    this.parts = { database, entry: this.entry, random, fourEyes: random.next() < 0.5, plant };
    this.process = new Process(this.parts);
  }

  /** Some rounds: one to three acts at once, under one fault; then some are asked for again. */
  async run(rounds: number): Promise<void> {
    for (const n of [1, 2, 3, 4])
      await this.rig.show({ ...predictionView, orderId: `p-${n}`, accountId: accounts[n % 2] ?? '', status: 'new' });
    await this.process.begin(1n);
    await this.submit(this.submission(this.place('acct-1')));
    for (let round = 0; round < rounds; round += 1) {
      const acts = Array.from({ length: 1 + Math.floor(this.random.next() * 3) }, () => this.drawAct());
      await this.database.during(drawFault(this.random), () => Promise.all(acts.map((act) => act())));
      const again = this.said.slice(-2).filter(() => this.random.next() < 0.5);
      for (const { submission } of again) await this.submit(submission);
    }
    await this.takeOver();
  }

  /** The next process begins while this one goes on and knows nothing of it. */
  private async takeOver(): Promise<void> {
    const former = this.process;
    const next = new Process(this.parts);
    await this.database.during(drawFault(this.random), async () => {
      const meanwhile = [this.drawAct(), this.drawAct()].map((act) => act());
      await Promise.all([next.begin(2n), ...meanwhile]);
    });
    former.commands.endAll();
    this.process = next;
    for (const { submission } of this.said.slice(-3)) await this.submit(submission);
    await this.drawAct()();
    await former.commands.drain(AbortSignal.timeout(5_000));
  }

  private drawAct(): () => Promise<void> {
    const dice = this.random.next();
    const accountId = pick(this.random, accounts);
    const scope: Halt['scope'] = this.random.next() < 0.3 ? { kind: 'service' } : { kind: 'account', accountId };
    if (dice < 0.45) return () => this.submit(this.submission(this.place(accountId)));
    if (dice < 0.6) return () => this.submit(this.submission(this.ofOrder(accountId)));
    if (dice < 0.67) return () => this.halt(scope);
    if (dice < 0.8) return () => this.resume(scope);
    if (dice < 0.87) return () => this.changeLimits(`${1_000 + Math.floor(this.random.next() * 1_000)}`);
    if (dice < 0.94) return () => this.resolve();
    return () => this.cancelAll(accountId);
  }

  private place(accountId: string): CommandRequest {
    this.keys += 1;
    return { ...placeEquity, accountId, terms: { ...placeEquity.terms, qty: `${this.keys}` } };
  }

  private ofOrder(accountId: string): CommandRequest {
    const orderId = `p-${accountId === 'acct-1' ? pick(this.random, [2, 4]) : pick(this.random, [1, 3])}`;
    const of = { stream: 'prediction', accountId, orderId } as const;
    if (this.random.next() < 0.5) return { kind: 'cancel', ...of };
    this.keys += 1;
    // In the one form of a decimal, as a request comes in: another can not be read again.
    return { kind: 'replace', ...of, terms: { price: `0.${10 + this.keys}`.replace(/0$/, '') } };
  }

  private submission(request: CommandRequest): Submission {
    this.keys += 1;
    return { principal: 'desk', idempotencyKey: `key-${this.keys}`, requestId: `r-${this.keys}`, request };
  }

  private async submit(submission: Submission): Promise<void> {
    this.said.push({ submission, result: await this.process.commands.submit(submission) });
  }

  private word(by = 'ann'): OperatorWord {
    this.keys += 1;
    return { by, reason: 'a drill', requestId: `r-${this.keys}` };
  }

  private async halt(scope: Halt['scope']): Promise<void> {
    const askedMs = systemClock.monotonicMs();
    const { kind } = await this.process.commands.operator.halt(scope, this.word());
    this.stops.push({ action: 'halt', scope, kind, askedMs, answeredMs: systemClock.monotonicMs() });
  }

  private async resume(scope: Halt['scope']): Promise<void> {
    const { operator } = this.process.commands;
    const askedMs = systemClock.monotonicMs();
    let result = await operator.resume(scope, this.word());
    if (result.kind === 'requested') {
      const { kind } = await operator.approve(result.approval.approvalId, this.word('bob'));
      result = kind === 'done' ? { kind, halts: [] } : { kind: 'declined', code: 'STORE_UNAVAILABLE', message: '' };
    }
    this.stops.push({ action: 'resume', scope, kind: result.kind, askedMs, answeredMs: systemClock.monotonicMs() });
  }

  private async changeLimits(maxQuantity: string): Promise<void> {
    const { operator } = this.process.commands;
    this.bounds.push(maxQuantity);
    const result = await operator.changeLimits({ accountId: 'acct-1' }, { maxQuantity }, this.word());
    if (result.kind !== 'requested') return;
    await operator.approve(result.approval.approvalId, this.word('bob'));
  }

  private async resolve(): Promise<void> {
    const commands = this.said.flatMap(({ result }) => (result.kind === 'journaled' ? [result.command] : []));
    const unresolved = commands.filter(({ state }) => state === 'unknown');
    if (unresolved.length === 0) return;
    const { commandId } = pick(this.random, unresolved);
    const known = pick(this.random, ['applied', 'rejected'] as const);
    const { operator } = this.process.commands;
    const result = await operator.resolve(commandId, known, this.word());
    const approved =
      result.kind === 'requested' && (await operator.approve(result.approval.approvalId, this.word('bob')));
    if (result.kind === 'done' || (approved !== false && approved.kind === 'done'))
      this.resolved.push({ commandId, result: known });
  }

  private async cancelAll(accountId: string): Promise<void> {
    this.keys += 1;
    const word = { ...this.word(), idempotencyKey: `all-${this.keys}` };
    for (let tries = 0; tries < 2; tries += 1) {
      const result = await this.process.commands.cancelAll({ kind: 'account', accountId }, word);
      if (result.kind !== 'done') continue;
      const orders = result.orders.map(({ orderId }) => orderId).sort();
      this.cancelAlls.push({ key: word.idempotencyKey, orders: orders.join() });
    }
  }
}

/**
 * One seed, whole, also with a planted bug. Resolves with what happened, for tests that count it.
 */
export async function runUnderFaults(
  seed: number,
  rounds: number,
  plant: Plant = (journal) => journal,
): Promise<CommandsUnderFaults> {
  await using rig = await journalRig();
  await using database = await faultedDatabase(rig);
  const world = new CommandsUnderFaults(rig, database, seededRandom(seed), plant);
  try {
    await world.run(rounds);
    await expectTruth(world);
  } finally {
    await world.process.commands.drain(AbortSignal.timeout(5_000));
  }
  expect(world.said.length).toBeGreaterThan(0);
  return world;
}

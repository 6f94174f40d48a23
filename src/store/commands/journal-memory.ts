import type { Command } from '../../domain/command.ts';
import { traits } from '../../domain/streams.ts';
import { dropOldest } from '../../runtime/drop-oldest.ts';
import { bigintArray } from '../orders/binary-array.ts';
import type { Binding } from '../orders/order-store.ts';
import { type PoolDeps, retryQuery } from '../session/retry-transaction.ts';
import { constraintOf, JournalError, writeOnce } from '../session/write-once.ts';
import { decodeCommand, type StoredCommand } from './decode-command.ts';
import type { KnownCommand } from './journal-rows.ts';
import type { Fence } from './term.ts';

/** Some seconds of them; more wait only while Kafka is away. */
const maxSteps = 1_000;

/** One transaction's numbers. */
interface TakenNumbers {
  readonly seqs: readonly bigint[];
  readonly fences: readonly Fence[];
}

/**
 * Numbers for the journal's rows in this process's shards: one more for each row, in all shards
 * together, so one transaction has no number twice. A takeover begins behind its shard's highest.
 *
 * Invariant: a number is open until its transaction is known to be committed or rolled back. If
 * nothing is known, it is lost, and `settle` decides it. A reader stops at the first open number.
 */
export class JournalNumbers {
  private last = 0n;
  /** False: another writer has given numbers there. */
  private readonly begun = new Map<number, boolean>();
  private readonly open = new Set<TakenNumbers>();
  private lost: readonly TakenNumbers[] = [];
  /**
   * The newest steps by `stepKey`: what this process wrote is not read to be published. Not by
   * number: while a shard is taken, one of another shard may have the same.
   */
  readonly steps = new Map<string, Command>();
  private readonly deps: PoolDeps;

  constructor(deps: PoolDeps) {
    this.deps = deps;
  }

  /** This process goes on behind `highest` in this shard. */
  begin(shard: number, highest: bigint): void {
    this.steps.clear();
    this.begun.set(shard, true);
    if (highest > this.last) this.last = highest;
  }

  /** Rejects as a write does that was not sent. */
  async beginBehindOthers(shards: readonly number[]): Promise<void> {
    for (const shard of new Set(shards)) {
      if (this.begun.get(shard) === true) continue;
      const [row] = await writeOnce<{ highest: string }>(this.deps, {
        name: 'highest_number',
        text: 'select public.highest_number($1) as highest',
        values: [shard],
      });
      this.begin(shard, BigInt(row?.highest ?? 0));
    }
  }

  keepStep(command: Command): void {
    this.steps.set(stepKey(command.commandId, command.version), command);
    dropOldest(this.steps, maxSteps);
  }

  take(fences: readonly Fence[]): TakenNumbers {
    const taken = { fences, seqs: fences.map(() => ++this.last) };
    this.open.add(taken);
    return taken;
  }

  /** Their transaction has ended. After some errors it may still be committed. */
  close(taken: TakenNumbers, error?: unknown): void {
    if (error instanceof JournalError && error.code === 'COMMIT_UNKNOWN') this.lost = [...this.lost, taken];
    else this.open.delete(taken);
    if (constraintOf(error) === 'journal_pkey') for (const { shard } of taken.fences) this.begun.set(shard, false);
  }

  /** Below it the shard has no open number. Zero: its takeover is not answered yet. */
  closedBelow(shard: number): bigint {
    if (!this.begun.has(shard)) return 0n;
    let first = this.last + 1n;
    for (const { seqs, fences } of this.open)
      for (const [i, fence] of fences.entries()) {
        const seq = seqs[i];
        if (fence.shard === shard && seq !== undefined && seq < first) first = seq;
      }
    return first;
  }

  /**
   * Writes an empty row at each lost number, unless its row is there: it can't come any more then.
   * Waits for a transaction still at work. Rejects if the database can't be reached; the numbers
   * stay open.
   */
  async settle(): Promise<void> {
    const settled = this.lost;
    if (settled.length === 0) return;
    const seqs = settled.flatMap((taken) => taken.seqs);
    const fences = settled.flatMap((taken) => taken.fences);
    await retryQuery(
      this.deps,
      `insert into public.journal (shard, epoch, seq, kind, at, body)
         select shard, epoch, seq, 'void', now(), '{}' from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as t(shard, epoch, seq) on conflict do nothing`,
      [bigintArray(fences.map(({ shard }) => shard)), bigintArray(fences.map(({ epoch }) => epoch)), bigintArray(seqs)],
    );
    this.lost = this.lost.filter((taken) => !settled.includes(taken));
    for (const taken of settled) this.open.delete(taken);
  }
}

export function stepKey(commandId: string, version: number): string {
  return `${commandId} ${version}`;
}

/** Some minutes of places at a high rate; older ones are read. */
const maxAttempts = 20_000;

/**
 * The newest attempts that this process committed and that may make an order. To whom an attempt
 * belongs never changes, so the first event of its order needs no read.
 */
export class OwnAttempts {
  private readonly bindings = new Map<string, Binding>();

  get(attemptId: string): Binding | undefined {
    return this.bindings.get(attemptId);
  }

  keep({ commandId, callerRef, request, attempts }: Command): void {
    const { kind, stream, accountId } = request;
    if (kind === 'cancel' || (kind === 'replace' && traits[stream].replaces !== 'new_order')) return;
    const side = kind === 'place' ? request.terms.side : null;
    const binding = { commandId, ...(callerRef !== undefined && { callerRef }), stream, accountId, side };
    for (const { attemptId } of attempts) this.bindings.set(attemptId, binding);
    dropOldest(this.bindings, maxAttempts);
  }
}

/** The process follows most of them anyway, and they are kept once. */
const maxKnown = 20_000;

/**
 * Commands in this process's hand, by their newest rows: the next row is made from it without a
 * read. One that left is read again. The database refuses a row behind another than the newest, and
 * the command is then forgotten here.
 */
export class KnownCommands {
  private readonly known = new Map<string, KnownCommand>();
  private readonly deps: PoolDeps;

  constructor(deps: PoolDeps) {
    this.deps = deps;
  }

  get(commandId: string): KnownCommand | undefined {
    return this.known.get(commandId);
  }

  keep(known: KnownCommand): void {
    const { commandId } = known.command;
    // As the newest in the map.
    this.known.delete(commandId);
    this.known.set(commandId, known);
    dropOldest(this.known, maxKnown);
  }

  forget(commandId: string): void {
    this.known.delete(commandId);
  }

  /** A new term: another holder may have stepped them. */
  forgetShard(shard: number): void {
    for (const [commandId, { command }] of this.known) if (command.shard === shard) this.forget(commandId);
  }

  /** Rejects with `NO_SUCH_COMMAND` if one of them is not there, or is of another shard. */
  async load(commandIds: readonly string[], shard: number): Promise<readonly KnownCommand[]> {
    const missing = commandIds.filter((id) => !this.known.has(id));
    const read = missing.length === 0 ? [] : await readStored(this.deps, missing);
    for (const each of read) this.keep(decodeKnown(each));
    return commandIds.map((id) => {
      const known = this.known.get(id);
      if (known?.command.shard === shard) return known;
      throw new JournalError('NO_SUCH_COMMAND', false, new Error(`there is no command ${id}`));
    });
  }

  /** Undefined: there is no such attempt. */
  async ofAttempt(attemptId: string): Promise<string | undefined> {
    const text = 'select command_id from public.journal where attempt_id = $1';
    const [row] = await retryQuery<{ command_id: string }>(this.deps, text, [attemptId]);
    return row?.command_id;
  }
}

interface StoredKnown {
  readonly account_id: string;
  readonly number: number;
  readonly command: StoredCommand;
}

/** By their newest rows, in this order. */
export function readStored(deps: PoolDeps, commandIds: readonly string[]): Promise<StoredKnown[]> {
  return retryQuery(deps, {
    name: 'known_commands',
    text: `select o.account_id, n.number, public.command_json(k.id) as command from unnest($1::uuid[]) with ordinality as k(id, place)
        join public.journal o on o.command_id = k.id and o.number = 1
        cross join lateral (select number from public.journal j where j.command_id = k.id order by j.number desc limit 1) as n order by k.place`,
    values: [commandIds],
  });
}

export function decodeKnown({ number, command }: StoredKnown): KnownCommand {
  return { number, command: decodeCommand(command) };
}

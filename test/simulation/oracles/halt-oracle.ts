import type { HaltResult } from '../../../src/service/commands/commands.ts';
import type { Halt } from '../../../src/store/commands/stops-journal.ts';
import type { Fence } from '../../../src/store/commands/term.ts';
import type { MemoryJournal } from '../../support/commands/memory-journal.ts';
import type { LedgerWrite } from '../write-ledger.ts';

interface HaltOracleWorld {
  /** The process that has a shard under this epoch. */
  holderOf(fence: Fence): string | undefined;
  /** Monotonic. */
  nowMs(): number;
  /**
   * The rows of lanes show every process that may send: neither was the
   * database's clock set, nor were commits lost.
   */
  lanesAreLive(): boolean;
  /** How long a marked attempt may take until it is written. */
  readonly writeWithinMs: number;
}

/**
 * After a halt was acknowledged no write but a cancel leaves, of whatever attempt, until a person
 * resumes (docs/guarantees.md 28). Acknowledged is what an operator was answered, and what the
 * journal took from the holder of the account by itself: it held there in memory before. What was
 * answered holds for all processes, but for those that the answer names; whatever the journal took
 * holds for all once a marked attempt has had its time.
 */
export class HaltOracle {
  readonly breaches: string[] = [];
  /** The processes that know of a halt, by its id. */
  private readonly known = new Map<string, Set<string>>();
  /** Halts that were answered: the processes that the answer named. */
  private readonly unconfirmed = new Map<string, ReadonlySet<string>>();
  /** Monotonic: when the journal took each halt. */
  private readonly takenAtMs = new Map<string, number>();
  /**
   * Halts that an operator was answered, and nobody has resumed: with the process that answered.
   */
  private readonly kept = new Map<string, { readonly halt: Halt; readonly from: string }>();
  /** Those of them that the database lost: the generation in which it did. */
  private readonly lostIn = new Map<string, number>();
  /** By scope: when a person let it place again. */
  private readonly resumedAtMs = new Map<string, number>();
  private readonly journal: MemoryJournal;

  private readonly world: HaltOracleWorld;

  constructor(journal: MemoryJournal, world: HaltOracleWorld) {
    this.journal = journal;
    this.world = world;
    journal.onHalted = ({ haltId, scope, sinceMs }, fence) => {
      // A write whose answer was lost may arrive behind the resume of its own halt: the halt holds
      // again once the holder reads it (seed 15207).
      const isOld = sinceMs <= (this.resumedAtMs.get(JSON.stringify(scope)) ?? Number.NEGATIVE_INFINITY);
      const holder = fence && world.holderOf(fence);
      if (!isOld) this.takenAtMs.set(haltId, world.nowMs());
      if (holder !== undefined && !isOld) this.knows(holder, haltId);
    };
    journal.onResumed = (scope, atMs) => {
      const key = JSON.stringify(scope);
      // An older resume whose answer was lost may arrive behind a newer one (seed 14641).
      this.resumedAtMs.set(key, Math.max(atMs, this.resumedAtMs.get(key) ?? Number.NEGATIVE_INFINITY));
      // Whatever the journal knew of them: where it has lost one, the
      // process that resumes forgets it all the same.
      for (const [haltId, { halt }] of this.kept) if (JSON.stringify(halt.scope) === key) this.kept.delete(haltId);
      // Each of these may be written once more, by a statement whose answer was lost (seed 4172).
      for (const halt of journal.halts)
        if (JSON.stringify(halt.scope) === key && halt.sinceMs <= atMs)
          for (const each of [this.known, this.unconfirmed, this.takenAtMs]) each.delete(halt.haltId);
    };
  }

  /** An operator was answered that these are in force. */
  answered(
    { halts, unconfirmed = [] }: Extract<HaltResult, { kind: 'done' }>,
    scope: Halt['scope'],
    from: string,
  ): void {
    for (const { haltId, ...halt } of halts) {
      if (JSON.stringify(halt.scope) !== JSON.stringify(scope)) continue;
      this.knows(from, haltId);
      const stands = this.journal.halts.some((each) => each.haltId === haltId && each.clearedAtMs === undefined);
      if (stands) this.kept.set(haltId, { halt: { haltId, ...halt }, from });
      if (halt.cause === 'operator' && this.world.lanesAreLive()) this.unconfirmed.set(haltId, new Set(unconfirmed));
    }
  }

  /**
   * Halts that were answered, that nobody has resumed, and that some process does not hold,
   * whatever the database lost: as long as the process lives that answered. A process that takes
   * nothing any more is not asked. And each that the database lost has begun a generation.
   */
  forgotten(
    processes: readonly { readonly name: string; readonly halts: readonly Halt[] }[],
    generation: number,
  ): string[] {
    const living = new Set(processes.map(({ name }) => name));
    return [...this.kept].flatMap(([haltId, { halt, from }]) => {
      // One that has the same scope and cause stands in its place.
      const isSame = ({ scope, cause }: Halt) =>
        cause === halt.cause && JSON.stringify(scope) === JSON.stringify(halt.scope);
      if (!living.has(from)) return [];
      const without = processes.filter(({ halts }) => !halts.some(isSame));
      const isUnnoticed = (this.lostIn.get(haltId) ?? 0) >= generation;
      return [
        ...without.map(({ name }) => `${name} has forgotten the acknowledged halt ${haltId}`),
        ...(isUnnoticed ? [`the database has lost the acknowledged halt ${haltId}, and no generation has begun`] : []),
      ];
    });
  }

  /** The database has come back as the journal is now. */
  lost(generation: number): void {
    for (const haltId of this.kept.keys())
      if (!this.journal.halts.some((each) => each.haltId === haltId)) this.lostIn.set(haltId, generation);
  }

  /** A process has read these in the journal. */
  read(halts: readonly Halt[], from: string): void {
    for (const { haltId } of halts) if (this.known.has(haltId)) this.knows(from, haltId);
  }

  private knows(process: string, haltId: string): void {
    this.known.set(haltId, (this.known.get(haltId) ?? new Set()).add(process));
  }

  private forbids(haltId: string, from: string): boolean {
    const { world } = this;
    if (this.known.get(haltId)?.has(from) === true || this.unconfirmed.get(haltId)?.has(from) === false) return true;
    return world.nowMs() - (this.takenAtMs.get(haltId) ?? Number.POSITIVE_INFINITY) > world.writeWithinMs;
  }

  /** The first byte of a request leaves its process. */
  left({ attemptId, from }: LedgerWrite): void {
    const command = this.journal.ofAttempts([attemptId]).get(attemptId);
    // Another state than sending: a later holder has swept it, since its
    // database's clock ran ahead of our lease.
    const isSending = command?.attempts.some(
      (attempt) => attempt.attemptId === attemptId && attempt.state === 'sending',
    );
    if (command === undefined || isSending !== true || command.request.kind === 'cancel') return;
    const { accountId, kind } = command.request;
    for (const { haltId, scope, cause, clearedAtMs } of this.journal.halts) {
      const covers = scope.kind === 'service' || scope.accountId === accountId;
      if (clearedAtMs === undefined && covers && this.forbids(haltId, from))
        this.breaches.push(`${from} writes ${attemptId}, a ${kind}, behind the acknowledged halt ${haltId} (${cause})`);
    }
  }
}

import { type Command, isDoubtful } from '../../../src/domain/command.ts';
import type { Answer } from '../../../src/service/commands/answer.ts';
import type { HaltsNow, Requested } from '../../../src/service/commands/commands.ts';
import type { HaltBounds } from '../../../src/store/commands/command-journal.ts';
import type { Halt } from '../../../src/store/commands/halts-journal.ts';
import type { MemoryJournal } from '../../support/commands/memory-journal.ts';
import type { LedgerWrite } from '../write-ledger.ts';

interface HaltOracleWorld {
  /** Monotonic. */
  nowMs(): number;
  /** How long a marked attempt may take until it is written. */
  readonly writeWithinMs: number;
  haltAt(): HaltBounds;
}

/**
 * After a halt was acknowledged no write but a cancel leaves, of whatever attempt and process,
 * until a person resumes (docs/guarantees.md 28). Acknowledged is what an operator was answered at
 * once, and whatever the journal took, once a marked attempt has had its time. And no transaction
 * leaves more doubtful commands behind than the bounds allow without their halt.
 */
export class HaltOracle {
  readonly breaches: string[] = [];
  /** Halts that were answered. */
  private readonly told = new Set<string>();
  /** Monotonic: when the journal took each halt. */
  private readonly takenAtMs = new Map<string, number>();
  /**
   * Halts that an operator was answered, and nobody has resumed: with the process that answered.
   */
  private readonly kept = new Map<string, { readonly halt: Halt; readonly from: string }>();
  /** Halts that the journal has answered a process with. */
  private readonly acknowledged = new Set<string>();
  /** Those of them that the database lost: the generation in which it did. */
  private readonly lostIn = new Map<string, number>();
  /** By scope: when a person let it place again, and how often. */
  private readonly resumed = new Map<string, { readonly atMs: number; readonly times: number }>();
  /** Where the transaction that is being done has made a command doubtful. */
  private readonly becameDoubtful = new Map<string, Halt['scope']>();
  private readonly journal: MemoryJournal;

  private readonly world: HaltOracleWorld;

  constructor(journal: MemoryJournal, world: HaltOracleWorld) {
    this.journal = journal;
    this.world = world;
    journal.onHalted = ({ haltId, scope, sinceMs }) => {
      // A write whose answer was lost may arrive behind the resume of its own halt: the halt holds
      // again (seed 15207).
      const isOld = sinceMs <= this.resumesOf(scope).atMs;
      if (!isOld) this.takenAtMs.set(haltId, world.nowMs());
    };
    journal.onResumed = (scope, atMs) => {
      const key = JSON.stringify(scope);
      const before = this.resumesOf(scope);
      // An older resume whose answer was lost may arrive behind a newer one (seed 14641).
      this.resumed.set(key, { atMs: Math.max(atMs, before.atMs), times: before.times + 1 });
      // Whatever the journal knew of them: where it has lost one, the
      // process that resumes forgets it all the same.
      for (const [haltId, { halt }] of this.kept) if (JSON.stringify(halt.scope) === key) this.kept.delete(haltId);
      // Each of these may be written once more, by a statement whose answer was lost (seed 4172).
      for (const { haltId, ...halt } of journal.halts) {
        if (JSON.stringify(halt.scope) !== key || halt.sinceMs > atMs) continue;
        this.told.delete(haltId);
        this.takenAtMs.delete(haltId);
      }
    };
  }

  /**
   * An operator asks for a halt. To be called with the answer: these are in force. If a person has
   * resumed meanwhile, those in the answer may be newer than the one that was asked for.
   */
  asked(scope: Halt['scope'], from: string): (answer: Extract<Answer<HaltsNow | Requested>, { kind: 'done' }>) => void {
    const { times } = this.resumesOf(scope);
    return ({ halts }) => {
      for (const { haltId, ...halt } of halts) {
        if (JSON.stringify(halt.scope) !== JSON.stringify(scope)) continue;
        const isCleared = this.journal.halts.some((each) => each.haltId === haltId && each.clearedAtMs !== undefined);
        if (isCleared || this.resumesOf(scope).times !== times) continue;
        this.kept.set(haltId, { halt: { haltId, ...halt }, from });
        if (halt.cause === 'operator') this.told.add(haltId);
      }
    };
  }

  acknowledge(haltId: string): void {
    this.acknowledged.add(haltId);
  }

  private resumesOf(scope: Halt['scope']) {
    return this.resumed.get(JSON.stringify(scope)) ?? { atMs: Number.NEGATIVE_INFINITY, times: 0 };
  }

  committed({ state, request: { accountId } }: Command, before: Command | undefined): void {
    if (!isDoubtful(state) || (before !== undefined && isDoubtful(before.state))) return;
    for (const scope of [{ kind: 'account', accountId }, { kind: 'service' }] as const)
      this.becameDoubtful.set(JSON.stringify(scope), scope);
  }

  /** A transaction of the journal is over. */
  transacted(): void {
    const { journal, world } = this;
    for (const [key, scope] of this.becameDoubtful) {
      const isOf = ({ request }: Command) => scope.kind === 'service' || scope.accountId === request.accountId;
      const doubtful = [...journal.commands.values()].filter((each) => isDoubtful(each.state) && isOf(each)).length;
      const isHalted = journal.halts.some(
        (halt) => halt.clearedAtMs === undefined && halt.cause === 'unresolved' && JSON.stringify(halt.scope) === key,
      );
      if (doubtful >= world.haltAt()[scope.kind] && !isHalted)
        this.breaches.push(`a commit leaves ${doubtful} doubtful commands of ${key}, and nothing is halted`);
    }
    this.becameDoubtful.clear();
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
    for (const haltId of this.acknowledged)
      if (!this.journal.halts.some((each) => each.haltId === haltId)) this.lostIn.set(haltId, generation);
  }

  private forbids(haltId: string): boolean {
    const { world } = this;
    const takenAtMs = this.takenAtMs.get(haltId) ?? Number.POSITIVE_INFINITY;
    return this.told.has(haltId) || world.nowMs() - takenAtMs > world.writeWithinMs;
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
      if (clearedAtMs === undefined && covers && this.forbids(haltId))
        this.breaches.push(`${from} writes ${attemptId}, a ${kind}, behind the acknowledged halt ${haltId} (${cause})`);
    }
  }
}

import type { Fence, Halt } from '../../src/store/command-journal.ts';
import type { MemoryJournal } from '../support/memory-journal.ts';
import type { LedgerWrite } from './write-ledger.ts';

/**
 * After a halt was acknowledged no write but a cancel leaves, of whatever attempt, until a person resumes (docs/guarantees.md 28). Acknowledged is what an operator was answered,
 * and what the journal took from the holder of the account by itself: it held there in memory before. To the other processes of the fleet it is known once they have
 * read it.
 */
export class HaltOracle {
  readonly breaches: string[] = [];
  /** The processes that know of a halt, by its id. */
  private readonly known = new Map<string, Set<string>>();
  /** By scope: when a person let it place again. */
  private readonly resumedAtMs = new Map<string, number>();
  private readonly journal: MemoryJournal;

  /** `holderOf`: the process that has a shard under this epoch. */
  constructor(journal: MemoryJournal, holderOf: (fence: Fence) => string | undefined) {
    this.journal = journal;
    journal.onHalted = ({ haltId, scope, sinceMs }, fence) => {
      // A write whose answer was lost may arrive behind the resume of its own halt: the halt holds again once the holder reads it (seed 15207).
      const isOld = sinceMs <= (this.resumedAtMs.get(JSON.stringify(scope)) ?? Number.NEGATIVE_INFINITY);
      const holder = fence && holderOf(fence);
      if (holder !== undefined && !isOld) this.knows(holder, haltId);
    };
    journal.onResumed = (scope, atMs) => {
      const key = JSON.stringify(scope);
      // An older resume whose answer was lost may arrive behind a newer one (seed 14641).
      this.resumedAtMs.set(key, Math.max(atMs, this.resumedAtMs.get(key) ?? Number.NEGATIVE_INFINITY));
      // Each of these may be written once more, by a statement whose answer was lost (seed 4172).
      for (const halt of journal.halts)
        if (JSON.stringify(halt.scope) === key && halt.sinceMs <= atMs) this.known.delete(halt.haltId);
    };
  }

  /** An operator was answered that these are in force. */
  answered(halts: readonly Halt[], scope: Halt['scope'], from: string): void {
    for (const halt of halts) if (JSON.stringify(halt.scope) === JSON.stringify(scope)) this.knows(from, halt.haltId);
  }

  /** A process has read these in the journal. */
  read(halts: readonly Halt[], from: string): void {
    for (const { haltId } of halts) if (this.known.has(haltId)) this.knows(from, haltId);
  }

  private knows(process: string, haltId: string): void {
    this.known.set(haltId, (this.known.get(haltId) ?? new Set()).add(process));
  }

  /** The first byte of a request leaves its process. */
  left({ attemptId, from }: LedgerWrite): void {
    const command = this.journal.ofAttempts([attemptId]).get(attemptId);
    // Another state than sending: a later holder has swept it, since its database's clock ran ahead of our lease.
    const isSending = command?.attempts.some((attempt) => attempt.attemptId === attemptId && attempt.state === 'sending');
    if (command === undefined || isSending !== true || command.request.kind === 'cancel') return;
    const { accountId, kind } = command.request;
    for (const { haltId, scope, cause, clearedAtMs } of this.journal.halts) {
      const covers = scope.kind === 'service' || scope.accountId === accountId;
      if (clearedAtMs === undefined && covers && this.known.get(haltId)?.has(from) === true)
        this.breaches.push(`${from} writes ${attemptId}, a ${kind}, behind the acknowledged halt ${haltId} (${cause})`);
    }
  }
}

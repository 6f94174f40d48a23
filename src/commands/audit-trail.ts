import type { Log } from '../observability/log.ts';
import type { AuditEntry, CommandJournal } from '../store/command-journal.ts';

/** More than this would mean that the database does not answer; the journal itself still says who asked for each command. */
const maxPending = 1_000;

/**
 * Records each act and its principal. It is written beside the work and never delays it: the act of an operator is also on the halt or the command itself, with
 * name and reason, in the transaction that does it. So an audit row that could not be written hides nothing.
 *
 * Invariant: one write at a time, of everything recorded since the last one began. At a hundred commands a second, a commit for each line would cost as much as
 * a step.
 */
export class AuditTrail {
  private pending: AuditEntry[] = [];
  private writing: Promise<void> | undefined;
  private readonly deps: { readonly journal: Pick<CommandJournal, 'audit'>; readonly log: Log };

  constructor(deps: { readonly journal: Pick<CommandJournal, 'audit'>; readonly log: Log }) {
    this.deps = deps;
  }

  record(entry: AuditEntry): void {
    if (this.pending.length >= maxPending) {
      this.lost([entry], 'an audit record was dropped: too many wait for the database');
      return;
    }
    this.pending.push(entry);
    this.writing ??= this.write().finally(() => {
      this.writing = undefined;
    });
  }

  /** Resolves once everything recorded so far is written or given up. */
  async drained(): Promise<void> {
    await this.writing;
  }

  /** Never rejects. */
  private async write(): Promise<void> {
    while (this.pending.length > 0) {
      const entries = this.pending;
      this.pending = [];
      await this.deps.journal
        .audit(entries)
        .catch((err: unknown) => this.lost(entries, 'an audit record could not be written', err));
    }
  }

  private lost(entries: readonly AuditEntry[], message: string, err?: unknown): void {
    for (const { action, principal, commandId, requestId } of entries)
      this.deps.log.error({ ...(err !== undefined && { err }), action, principal, commandId, requestId }, message);
  }
}

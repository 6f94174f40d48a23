import type { Log } from '../observability/log.ts';
import type { AuditEntry, CommandJournal } from './command-journal.ts';

/** More than this would mean that the database does not answer; the journal itself still says who asked for each command. */
const maxPending = 1_000;

/**
 * Who did what. Written beside the work, never in its way: what is done by an operator is on the halt or the command itself too, with name and reason, in the transaction
 * that does it, so that an audit row that could not be written hides nothing.
 */
export class AuditTrail {
  private readonly pending = new Set<Promise<void>>();
  private readonly deps: { readonly journal: Pick<CommandJournal, 'audit'>; readonly log: Log };

  constructor(deps: { readonly journal: Pick<CommandJournal, 'audit'>; readonly log: Log }) {
    this.deps = deps;
  }

  record(entry: AuditEntry): void {
    const { journal, log } = this.deps;
    const { action, principal, commandId, requestId } = entry;
    if (this.pending.size >= maxPending) {
      log.error({ action, principal, commandId, requestId }, 'an audit record was dropped: too many wait for the database');
      return;
    }
    const writing = journal
      .audit(entry)
      .catch((err: unknown) =>
        log.error({ err, action, principal, commandId, requestId }, 'an audit record could not be written'),
      )
      .finally(() => this.pending.delete(writing));
    this.pending.add(writing);
  }

  /** Resolves when everything recorded so far is written or given up. */
  async drained(): Promise<void> {
    await Promise.allSettled([...this.pending]);
  }
}

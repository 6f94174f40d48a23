import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import type { AuditEntry, CommandJournal } from '../store/command-journal.ts';

/** More than this would mean that the database does not answer; the journal itself still says who asked for each command. */
const maxPending = 1_000;
/** The least time from one write with lines of commands to the next of such lines alone. */
const gatherMs = 100;
const ofCommands: ReadonlySet<string> = new Set(['place', 'replace', 'cancel']);

interface AuditTrailDeps {
  readonly journal: Pick<CommandJournal, 'audit'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Records each act and its principal. It is written beside the work and never delays it: the act of an operator is also on the halt or the command itself, with
 * name and reason, in the transaction that does it. So an audit row that could not be written hides nothing.
 *
 * Invariant: one write at a time, of everything recorded since the last one began. Lines of commands are written at most ten times a second, since at a hundred
 * commands a second a commit for each would cost as much as a step; any other line is written at once, with those that wait.
 */
export class AuditTrail {
  private pending: AuditEntry[] = [];
  private writing: Promise<void> | undefined;
  /** When the last write began that had a line of a command. */
  private beganMs = Number.NEGATIVE_INFINITY;
  /** Ends the wait for more lines. */
  private hurry = new AbortController();
  private ending = false;
  private readonly deps: AuditTrailDeps;

  constructor(deps: AuditTrailDeps) {
    this.deps = deps;
  }

  record(entry: AuditEntry): void {
    if (this.pending.length >= maxPending) {
      this.lost([entry], 'an audit record was dropped: too many wait for the database');
      return;
    }
    this.pending.push(entry);
    if (!ofCommands.has(entry.action)) this.hurry.abort();
    this.writing ??= this.write().finally(() => {
      this.writing = undefined;
    });
  }

  /** The process ends: writes without waiting for more lines. Resolves once everything recorded so far is written or given up. */
  async drained(): Promise<void> {
    this.ending = true;
    this.hurry.abort();
    await this.writing;
  }

  /** Never rejects. */
  private async write(): Promise<void> {
    const { clock } = this.deps;
    while (this.pending.length > 0) {
      const leftMs = gatherMs - (clock.monotonicMs() - this.beganMs);
      if (leftMs > 0 && !this.ending) await clock.sleep(leftMs, this.hurry.signal);
      if (this.hurry.signal.aborted) this.hurry = new AbortController();
      const entries = this.pending;
      this.pending = [];
      if (entries.some(({ action }) => ofCommands.has(action))) this.beganMs = clock.monotonicMs();
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

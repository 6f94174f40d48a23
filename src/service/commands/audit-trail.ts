import type { Ambient } from '../../observability/ambient.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { AuditTrailEntry, CommandJournal } from '../../store/commands/command-journal.ts';

/**
 * Lines waiting for the database: an hour with people's acts, or a minute and a half with commands
 * at their greatest rate.
 */
const maxPending = 10_000;
/** Lines of one statement. */
const maxAtOnce = 1_000;
/**
 * The least time between two writes with command lines alone. At the pace of the commands itself,
 * each line would come later after its command than the one before, and find no company.
 */
const gatherMs = 50;
const againAfter = { firstMs: 250, maxMs: 5_000 };
const ofCommands: ReadonlySet<string> = new Set(['place', 'replace', 'cancel']);

interface AuditTrailDeps extends Ambient {
  readonly journal: Pick<CommandJournal, 'addToAuditTrail'>;
}

/**
 * Records each act and its principal. It is written beside the work and never delays it: an
 * operator's act is also on the halt or the command itself, with name and reason, in its own
 * transaction. Lines the database refused are kept, in their order, and written when it is back; a
 * process without time or room for them puts each line into its log.
 *
 * Invariant: one write at a time, with everything recorded since the last one began. Command lines
 * are written at most twenty times a second, and wait for company: at a hundred commands a second,
 * a commit for each would cost as much as a step. Any other line is written at once, with those
 * waiting.
 */
export class AuditTrail {
  private pending: AuditTrailEntry[] = [];
  private writing: Promise<void> | undefined;
  /** When the last write with a command line began. */
  private beganMs = Number.NEGATIVE_INFINITY;
  /** Ends the wait for more lines. */
  private hurry = new AbortController();
  private ending = false;
  private readonly ended = new AbortController();
  /** The last write failed: it may have been done all the same. */
  private again = false;
  private readonly deps: AuditTrailDeps;

  constructor(deps: AuditTrailDeps) {
    this.deps = deps;
  }

  record(entry: AuditTrailEntry): void {
    if (this.pending.length >= maxPending) this.makeRoom(entry);
    if (this.pending.length >= maxPending) return;
    this.pending.push(entry);
    if (!ofCommands.has(entry.action)) this.hurry.abort();
    this.writing ??= this.write().finally(() => {
      this.writing = undefined;
    });
  }

  /**
   * The process ends: writes without waiting for more lines. Resolves once everything recorded so
   * far is written or given up.
   */
  async drained(): Promise<void> {
    this.ending = true;
    this.ended.abort();
    this.hurry.abort();
    await this.writing;
  }

  /**
   * The journal itself still says who asked for each command, so their lines go first. Without one
   * the entry itself is lost.
   */
  private makeRoom(entry: AuditTrailEntry): void {
    const at = ofCommands.has(entry.action) ? -1 : this.pending.findIndex(({ action }) => ofCommands.has(action));
    const [gone = entry] = at < 0 ? [] : this.pending.splice(at, 1);
    this.lost([gone], 'an audit record was dropped: too many wait for the database');
  }

  /** Never rejects. */
  private async write(): Promise<void> {
    const { clock, journal, log } = this.deps;
    const backoff = new Backoff(this.deps.random, againAfter);
    while (this.pending.length > 0) {
      const leftMs = gatherMs - (clock.monotonicMs() - this.beganMs);
      if (leftMs > 0 && !this.ending) await clock.sleep(leftMs, this.hurry.signal);
      if (this.hurry.signal.aborted) this.hurry = new AbortController();
      const entries = this.pending.splice(0, maxAtOnce);
      const commands = entries.filter(({ action }) => ofCommands.has(action)).length;
      if (commands > 0) this.beganMs = clock.monotonicMs();
      try {
        await journal.addToAuditTrail(entries, this.again, commands === entries.length);
        this.again = false;
        backoff.reset();
      } catch (err) {
        if (this.ending)
          this.lost([...entries, ...this.pending.splice(0)], 'an audit record could not be written', err);
        else {
          if (!this.again)
            log.error({ err, lines: entries.length }, 'the audit trail could not be written: its lines are kept');
          this.again = true;
          this.pending.unshift(...entries);
          await clock.sleep(backoff.nextMs(), this.ended.signal);
        }
      }
    }
  }

  private lost(entries: readonly AuditTrailEntry[], message: string, err?: unknown): void {
    for (const { action, principal, commandId, requestId } of entries)
      this.deps.log.error({ ...(err !== undefined && { err }), action, principal, commandId, requestId }, message);
  }
}

import { type Command, isFinal } from '../../domain/command.ts';
import { attemptTransition } from '../../domain/command-machine.ts';
import type { Ambient } from '../../observability/ambient.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandSteps } from './command-steps.ts';
import { decideAnswer } from './decide-step.ts';
import type { OrphanOrders } from './orphan-orders.ts';

interface JournalSweepDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly journal: Pick<CommandJournal, 'unresolved'>;
  readonly book: CommandBook;
  readonly steps: CommandSteps;
  /** Takes a command that is not watched. */
  readonly adopt: (command: Command) => void;
}

/**
 * A transaction of ours whose answer was lost commits within this time or never, because the
 * database's deadlines are shorter.
 */
const sweepForMs = 60_000;
const maxNeverWritten = 10_000;
/**
 * Commands in one read, and reads in one sweep: a few sweeps pass through a hundred thousand
 * commands.
 */
const pageSize = 1_000;
const pagesAtOnce = 20;

/**
 * Asks the journal for the shard's commands missing in memory: those without room, and those whose
 * opening may have committed although its answer was lost.
 *
 * It goes round: without room, the command followed longest makes some, so none waits forever
 * behind commands without news.
 *
 * An open command in no hands here was never sent (its attempt is PREPARED, or its opening as
 * SENDING had no answer here), or its sender may not send any more: it is given up, as in a
 * takeover.
 */
export class JournalSweep {
  private timer: Timer | undefined;
  /** The command at which the round through the journal has arrived. */
  private after: Command | undefined;
  private gaveTurn = false;
  /** Monotonic. */
  private roundBeganMs = 0;
  private sweepUntilMs = Number.NEGATIVE_INFINITY;
  /**
   * Commands whose opening here had no answer, until when they may still commit: their attempt was
   * not written, also where it is SENDING. Kept until a whole round behind that time was read.
   */
  private readonly neverWritten = new Map<string, number>();
  private readonly deps: JournalSweepDeps;
  private readonly term: Term;
  private readonly options: Pick<CommandOptions, 'sweepEveryMs' | 'turnMs'>;

  constructor(deps: JournalSweepDeps, term: Term, options: Pick<CommandOptions, 'sweepEveryMs' | 'turnMs'>) {
    this.deps = deps;
    this.term = term;
    this.options = options;
  }

  begin(): void {
    if (!this.deps.book.complete) this.arm();
  }

  /** The term is over. */
  end(): void {
    this.timer?.cancel();
  }

  /**
   * A command may be in the journal although its opening failed. `neverWritten`: it was opened by
   * this process, which writes none of its attempts.
   */
  sweepSoon(neverWritten?: string): void {
    this.sweepUntilMs = this.deps.clock.monotonicMs() + sweepForMs;
    if (neverWritten !== undefined) {
      // Without its entry a command counts as one that may have been written.
      const [oldest] = this.neverWritten.keys();
      if (oldest !== undefined && this.neverWritten.size >= maxNeverWritten) this.neverWritten.delete(oldest);
      this.neverWritten.set(neverWritten, this.sweepUntilMs);
    }
    this.arm();
  }

  private arm(): void {
    const { over } = this.term;
    if (over.aborted || this.timer !== undefined) return;
    this.timer = this.deps.clock.after(this.options.sweepEveryMs, () => {
      void this.sweep().then(() => {
        if (over.aborted) return;
        this.timer = undefined;
        const isDue = this.neverWritten.size > 0 || this.deps.clock.monotonicMs() < this.sweepUntilMs;
        if (!this.deps.book.complete || isDue) this.arm();
      });
    });
  }

  private async sweep(): Promise<void> {
    const { over, fence } = this.term;
    if (this.after === undefined) this.roundBeganMs = this.deps.clock.monotonicMs();
    for (let pages = 0; pages < pagesAtOnce; pages += 1) {
      let commands: Command[];
      try {
        commands = await this.deps.journal.unresolved(pageSize, this.after, fence.shard);
      } catch (err) {
        this.deps.log.warn({ err }, 'unresolved commands could not be read');
        return;
      }
      for (const command of commands) {
        if (over.aborted) return;
        if (!(await this.takeUp(command))) {
          this.deps.book.overflow(true);
          return;
        }
        this.after = command;
      }
      if (commands.length < pageSize) {
        // A command that gave its place away in this round waits for the next one.
        this.deps.book.overflow(this.gaveTurn);
        this.after = undefined;
        this.gaveTurn = false;
        for (const [commandId, untilMs] of this.neverWritten)
          if (untilMs < this.roundBeganMs) this.neverWritten.delete(commandId);
        return;
      }
    }
  }

  /** False: there is no room for it yet. */
  private async takeUp(command: Command): Promise<boolean> {
    const { book, adopt } = this.deps;
    if (book.get(command.commandId) !== undefined || book.opening.has(command.commandId) || isFinal(command.state))
      return true;
    if (command.state === 'open') await this.giveUp(command);
    else if (book.room > 0) adopt(command);
    else if (book.yieldPlace(this.options.turnMs)) {
      this.gaveTurn = true;
      adopt(command);
    } else return false;
    return true;
  }

  private async giveUp(command: Command): Promise<void> {
    const { steps, clock, log } = this.deps;
    const attempt = command.attempts.at(-1);
    if (attempt === undefined) return;
    const abandoned = attempt.state === 'prepared' || this.neverWritten.has(command.commandId);
    const reason = { code: 'ABANDONED', message: 'no process had this attempt in hand any more' };
    const result = abandoned
      ? ({ kind: 'not_sent', reason, mayRepeat: false } as const)
      : ({ kind: 'unknown', reason } as const);
    if (attemptTransition(attempt.state, abandoned ? 'abandoned' : 'answered_unknown') === 'ignored') return;
    const answer = { attemptId: attempt.attemptId, result, abandoned, atMs: clock.nowMs() };
    try {
      await steps.commit(command, decideAnswer(answer), this.term);
    } catch (err) {
      log.warn({ err, commandId: command.commandId }, 'a command that was left open could not be given up');
      this.sweepSoon(this.neverWritten.has(command.commandId) ? command.commandId : undefined);
    }
  }
}

interface LandingSweepDeps extends Ambient {
  readonly journal: Pick<CommandJournal, 'landings'>;
  readonly orphans: OrphanOrders;
}

/** Commands in one query: some 10 ms on the server. */
const landingPageSize = 2_000;

/**
 * Checks all final places, however old, except those `applied` with an order, for orders carrying
 * their reference after all: when the shard is taken, and at intervals. The process may have ended
 * after it bound the order and before it said so, and commands settled long ago are in no process's
 * memory.
 *
 * Invariant: one pass at a time, in pages, each order judged before the next one; a failed pass
 * continues from its stop.
 */
export class LandingSweep {
  private readonly deps: LandingSweepDeps;
  private readonly options: Pick<CommandOptions, 'journalBackoff' | 'landingSweepEveryMs'>;

  constructor(deps: LandingSweepDeps, options: Pick<CommandOptions, 'journalBackoff' | 'landingSweepEveryMs'>) {
    this.deps = deps;
    this.options = options;
  }

  /** Runs until the term is over. Never rejects. */
  async run(term: Term): Promise<void> {
    const { clock } = this.deps;
    while (!term.over.aborted) {
      await this.look(term);
      await clock.sleep(this.options.landingSweepEveryMs, term.over);
    }
  }

  private async look(term: Term): Promise<void> {
    const { journal, orphans, clock, random, log } = this.deps;
    const backoff = new Backoff(random, this.options.journalBackoff);
    let after: string | undefined;
    let failing = false;
    do {
      try {
        const page = await journal.landings(term.fence.shard, after, landingPageSize);
        for (const { commandId } of page.bound) if (!term.over.aborted) await orphans.judge(commandId, term);
        after = page.next;
        failing = false;
        backoff.reset();
      } catch (err) {
        if (!failing) log.warn({ err }, 'places that came to nothing could not be looked through; trying again');
        failing = true;
        await clock.sleep(backoff.nextMs(), term.over);
      }
    } while (!term.over.aborted && (failing || after !== undefined));
  }
}

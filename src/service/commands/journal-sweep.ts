import { type Command, isFinal } from '../../domain/command.ts';
import { attemptTransition } from '../../domain/command-machine.ts';
import { dropOldest } from '../../runtime/drop-oldest.ts';
import type { Term } from '../../store/commands/term.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts } from './command-parts.ts';
import { decideAnswer } from './decide-step.ts';
import type { OrphanOrders } from './orphan-orders.ts';
import { untilAnswered } from './until-answered.ts';

interface JournalSweepDeps extends CommandParts {
  /** Takes a command that is not watched. */
  readonly adopt: (command: Command, term: Term) => void;
}

/**
 * A transaction of ours whose answer was lost commits within this time or never, because the
 * database's deadlines are shorter.
 */
const commitsWithinMs = 60_000;
const maxLost = 10_000;
/**
 * Commands in one read, and reads in one sweep: a few sweeps pass through a hundred thousand
 * commands.
 */
const pageSize = 1_000;
const pagesAtOnce = 20;

/**
 * Asks the journal for the held shards' commands missing in memory: those without room, and those
 * whose opening may have committed although its answer was lost.
 *
 * For those without room it goes round through all shards, oldest first: the command followed
 * longest makes room for the next one, so none waits forever behind commands without news.
 *
 * An open command in no hands here was never sent (its attempt is PREPARED, or its opening as
 * SENDING had no answer here), or its sender may not send any more: it is given up, as in a
 * takeover. Invariant: a command is taken up under the term that was held before it was read.
 */
export class JournalSweep {
  private running = false;
  private resting = new AbortController();
  /** The command at which the round through the journal has arrived. */
  private after: Command | undefined;
  /** This round has passed commands not followed here. */
  private again = false;
  /**
   * Openings without an answer, by the attempt's id, until the command is followed here or over.
   * `neverWritten`: this process has opened it, and writes none of its attempts. `untilMs`:
   * monotonic.
   */
  private readonly lost = new Map<string, { readonly neverWritten: boolean; readonly untilMs: number }>();
  private readonly deps: JournalSweepDeps;
  private readonly options: CommandOptions;

  constructor(deps: JournalSweepDeps, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** A shard's commands were taken over. The round may have passed some without room. */
  begin(): void {
    this.again = true;
    this.start();
  }

  /** No shard is held any more. */
  end(): void {
    this.resting.abort();
  }

  /** A command may be in the journal although its opening failed. */
  lookFor(attemptId: string, neverWritten: boolean): void {
    const untilMs = this.deps.clock.monotonicMs() + commitsWithinMs;
    this.lost.set(attemptId, {
      neverWritten: neverWritten || this.lost.get(attemptId)?.neverWritten === true,
      untilMs,
    });
    dropOldest(this.lost, maxLost);
    this.start();
  }

  private start(): void {
    if (this.running) return;
    this.running = true;
    void this.run();
  }

  private async run(): Promise<void> {
    const { clock, log, book, held } = this.deps;
    while (held.size > 0 && (this.lost.size > 0 || !book.complete)) {
      this.resting = new AbortController();
      // Also while the process drains: an opening without an answer may still commit.
      await clock.sleep(this.options.sweepEveryMs, this.resting.signal);
      if (held.size === 0) break;
      try {
        if (this.lost.size > 0) await this.lookForLost();
        if (!book.complete) await this.goRound();
      } catch (err) {
        log.warn({ err }, 'unresolved commands could not be read');
      }
    }
    this.running = false;
  }

  /** Side by side: a shard taking no writes holds up no other one. */
  private async lookForLost(): Promise<void> {
    const { journal, held, clock, book } = this.deps;
    const terms = new Map(held);
    const nowMs = clock.monotonicMs();
    const found = await journal.findByAttempts([...this.lost.keys()]);
    const work = [...this.lost].map(async ([attemptId, { neverWritten, untilMs }]) => {
      const command = found.get(attemptId);
      if (command === undefined ? untilMs > nowMs : book.opening.has(command.commandId)) return;
      const term = command && terms.get(command.shard);
      const isMissing = command !== undefined && !isFinal(command.state) && book.get(command.commandId) === undefined;
      if (!isMissing || term === undefined || term.over.aborted) this.lost.delete(attemptId);
      // Read again: it may be unknown by now, and is followed then.
      else if (command.state === 'open') await this.giveUp(command, term, neverWritten);
      else if (!this.takeUp(command, term)) book.overflow(true);
    });
    await Promise.all(work);
  }

  private async goRound(): Promise<void> {
    const { journal, book, held } = this.deps;
    for (let pages = 0; pages < pagesAtOnce; pages += 1) {
      const terms = new Map(held);
      const commands = await journal.unresolved(pageSize, this.after, [...terms.keys()]);
      for (const command of commands) {
        const term = terms.get(command.shard);
        if (term !== undefined && !this.takeUp(command, term)) return book.overflow(true);
        this.after = command;
      }
      if (commands.length < pageSize) {
        book.overflow(this.again);
        this.after = undefined;
        this.again = false;
        return;
      }
    }
  }

  /** False: there is no room for it yet. */
  private takeUp(command: Command, term: Term): boolean {
    const { book, adopt } = this.deps;
    // One that is open is being sent, or looked for by its attempt.
    if (term.over.aborted || command.state === 'open' || book.get(command.commandId) !== undefined) return true;
    if (book.room === 0) {
      if (!book.yieldPlace(this.options.turnMs)) return false;
      this.again = true;
    }
    adopt(command, term);
    return true;
  }

  private async giveUp(command: Command, term: Term, neverWritten: boolean): Promise<void> {
    const { steps, clock, log } = this.deps;
    const attempt = command.attempts.at(-1);
    if (attempt === undefined) return;
    const abandoned = attempt.state === 'prepared' || neverWritten;
    const reason = { code: 'ABANDONED', message: 'no process had this attempt in hand any more' };
    const result = abandoned
      ? ({ kind: 'not_sent', reason, mayRepeat: false } as const)
      : ({ kind: 'unknown', reason } as const);
    if (attemptTransition(attempt.state, abandoned ? 'abandoned' : 'answered_unknown') === 'ignored') return;
    const answer = { attemptId: attempt.attemptId, result, abandoned, atMs: clock.nowMs() };
    try {
      await steps.commit(command, decideAnswer(answer), term);
    } catch (err) {
      log.warn({ err, commandId: command.commandId }, 'a command that was left open could not be given up');
    }
  }
}

/** Commands in one query: some 10 ms on the server. */
const landingPageSize = 2_000;

/**
 * Checks all final places, however old, except those `applied` with an order, for orders carrying
 * their reference after all: when the shard is taken, and at intervals, until the term is over. The
 * process may have ended after it bound the order and before it said so, and commands resolved long
 * ago are in no process's memory. One pass at a time, in pages, each order judged before the next
 * one; a failed pass continues from its stop. Never rejects.
 */
export async function sweepLandings(
  deps: CommandParts & { readonly orphans: OrphanOrders },
  options: CommandOptions,
  { fence, over }: Term,
): Promise<void> {
  const { clock, journal, orphans, log } = deps;
  const onFailure = (err: unknown) =>
    log.warn({ err }, 'places that came to nothing could not be looked through; trying again');
  let after: string | undefined;
  const lookOn = async () => {
    const page = await journal.landings(fence.shard, after, landingPageSize);
    for (const { commandId } of page.bound) if (!over.aborted) await orphans.judge(commandId);
    after = page.next;
  };
  while (!over.aborted) {
    await untilAnswered(deps, lookOn, { ...options, over, onFailure });
    if (after === undefined) await clock.sleep(options.landingSweepEveryMs, over);
  }
}

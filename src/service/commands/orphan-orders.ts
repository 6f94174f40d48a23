import type { Command } from '../../domain/command.ts';
import type { Ambient } from '../../observability/ambient.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandOptions } from './command-options.ts';
import type { SettleWatched } from './settle-watched.ts';
import { type Watched, watchedFrom } from './watched.ts';

interface OrphanOrdersDeps extends Ambient {
  readonly journal: CommandJournal;
  readonly book: CommandBook;
  readonly settling: SettleWatched;
  /** Takes a command of the journal into memory. */
  readonly adopt: (command: Command) => Watched;
}

const maxQueued = 1_000;
const idsPerQuery = 500;

/**
 * Commands with order news and without a watch: they were settled long ago, or memory has no room.
 * Most news is harmless (a rejected place's order); otherwise the order has landed late. Another
 * shard's command is left to its own term.
 *
 * Invariant: each is judged, by the journal's knowledge, or the term is over. When more than 1,000
 * wait, all recent commands are looked up in the journal instead. If a command turns out not to be
 * over, it stays in memory, if there is room.
 */
export class OrphanOrders {
  private readonly queue = new Set<string>();
  private overflowed = false;
  /** The term under which the queue is being worked through. */
  private current: Term | undefined;
  private readonly deps: OrphanOrdersDeps;
  private readonly options: Pick<CommandOptions, 'journalBackoff'>;

  constructor(deps: OrphanOrdersDeps, options: Pick<CommandOptions, 'journalBackoff'>) {
    this.deps = deps;
    this.options = options;
  }

  judgeLater(commandId: string, term: Term): void {
    if (this.queue.size >= maxQueued) this.overflowed = true;
    else this.queue.add(commandId);
    this.start(term);
  }

  /** Hand-overs were missed: every recent command that has an order is judged. */
  lookUp(term: Term): void {
    this.overflowed = true;
    this.start(term);
  }

  private start(term: Term): void {
    if (this.current === term) return;
    this.current = term;
    void this.run(term);
  }

  private async run(term: Term): Promise<void> {
    const { clock, random, log } = this.deps;
    const backoff = new Backoff(random, this.options.journalBackoff);
    let failing = false;
    while (!term.over.aborted) {
      const [commandId] = this.queue;
      if (commandId === undefined && !this.overflowed) break;
      // News that comes while the command is judged puts it on the queue again.
      if (commandId !== undefined) this.queue.delete(commandId);
      try {
        if (commandId === undefined) await this.readRecent();
        else await this.judge(commandId, term);
        failing = false;
      } catch (err) {
        if (commandId !== undefined) this.queue.add(commandId);
        if (!failing) log.warn({ err }, 'an order of ours could not be matched with its command; trying again');
        failing = true;
        await clock.sleep(backoff.nextMs(), term.over);
      }
    }
    if (this.current === term) this.current = undefined;
  }

  private async readRecent(): Promise<void> {
    const { book, journal } = this.deps;
    this.overflowed = false;
    try {
      const ids = book.recentIds();
      for (let at = 0; at < ids.length; at += idsPerQuery)
        for (const { commandId } of await journal.boundOrders(ids.slice(at, at + idsPerQuery)))
          this.queue.add(commandId);
    } catch (error) {
      this.overflowed = true;
      throw error;
    }
  }

  /** Rejects when the journal can't be reached. */
  async judge(commandId: string, term: Term): Promise<void> {
    const { journal, book, settling, adopt, clock } = this.deps;
    const known = book.get(commandId);
    const command = known?.command ?? (await journal.find(commandId));
    if (command === undefined || command.shard !== term.fence.shard || term.over.aborted) return;
    const nowMs = clock.monotonicMs();
    const entry = known ?? (book.room > 0 ? adopt(command) : watchedFrom(command, nowMs, nowMs));
    book.retain(entry);
    entry.behind = true;
    await settling.settle(entry, term);
    book.release(entry);
  }
}

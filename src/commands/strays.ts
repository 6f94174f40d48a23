import type { BoundOrder, SettlingUpdate } from '../domain/settling.ts';
import type { Log } from '../observability/log.ts';
import { Backoff } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandJournal } from './command-journal.ts';
import type { CommandOptions } from './command-options.ts';
import { takeBound, takeUpdate } from './follow-orders.ts';
import type { SettleWatched } from './settle-watched.ts';
import type { Term } from './term.ts';
import { watchedFrom } from './watched.ts';

export interface StraysDeps {
  readonly journal: CommandJournal;
  readonly book: CommandBook;
  readonly settling: SettleWatched;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Stray {
  readonly bound: BoundOrder;
  readonly update: SettlingUpdate | undefined;
}

const maxQueued = 1_000;
const idsPerQuery = 500;

/**
 * Orders that carry an id of a command which is not watched: it was settled long ago, or it is one too many for memory. Most are harmless (the order of a place that was
 * answered as rejected); the others landed late.
 *
 * Invariant: each is judged once its command could be read, or the term is over. Beyond 1,000 that wait, all recent commands are looked up in the journal instead.
 */
export class Strays {
  private readonly queue: Stray[] = [];
  private overflowed = false;
  /** Under which term the queue is being worked through. */
  private current: Term | undefined;
  private readonly deps: StraysDeps;
  private readonly options: Pick<CommandOptions, 'journalBackoff'>;

  constructor(deps: StraysDeps, options: Pick<CommandOptions, 'journalBackoff'>) {
    this.deps = deps;
    this.options = options;
  }

  take(bound: BoundOrder, update: SettlingUpdate | undefined, term: Term): void {
    if (this.queue.length >= maxQueued) this.overflowed = true;
    else this.queue.push({ bound, update });
    this.start(term);
  }

  /** Hand-overs were missed: whatever recent command an order was bound to meanwhile is judged. */
  lookUp(term: Term): void {
    this.overflowed = true;
    this.start(term);
  }

  end(): void {
    this.queue.length = 0;
    this.overflowed = false;
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
      const stray = this.queue[0];
      if (stray === undefined && !this.overflowed) break;
      try {
        if (stray === undefined) await this.readRecent();
        else await this.judge(stray, term);
        if (stray !== undefined && this.queue[0] === stray) this.queue.shift();
        failing = false;
      } catch (err) {
        if (!failing) log.warn({ err }, 'an order of ours could not be told to its command; trying again');
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
        for (const bound of await journal.boundOrders(ids.slice(at, at + idsPerQuery)))
          this.queue.push({ bound, update: undefined });
    } catch (error) {
      this.overflowed = true;
      throw error;
    }
  }

  /** Rejects when the journal can't be reached. */
  async judge({ bound, update }: Stray, term: Term): Promise<void> {
    const { journal, book, settling, clock } = this.deps;
    const known = book.get(bound.commandId);
    const command = known?.command ?? (await journal.find(bound.commandId));
    if (command === undefined) return;
    const entry = known ?? watchedFrom(command, clock.monotonicMs(), clock.monotonicMs());
    takeBound(entry, bound);
    const newest = update ?? (await journal.readOrder(command.request.stream, bound.orderId));
    if (newest !== undefined) takeUpdate(entry, newest);
    await settling.settle(entry, term);
  }
}

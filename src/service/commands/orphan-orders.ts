import type { Command } from '../../domain/command.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Term } from '../../store/commands/term.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts } from './command-parts.ts';
import type { ResolveWatched } from './resolve-watched.ts';
import { type Watched, watchedFrom } from './watched.ts';

interface OrphanOrdersDeps extends CommandParts {
  readonly resolving: ResolveWatched;
  /** Takes a command of the journal into memory. */
  readonly adopt: (command: Command, term: Term) => Watched;
}

const maxQueued = 1_000;
const idsPerQuery = 500;
/** An unwritten one holds up no other shard's. */
const judgedAtOnce = 8;

/**
 * Commands with order news and without a watch: they were resolved long ago, or memory has no room.
 * Most news is harmless (a rejected place's order); otherwise the order has landed late. A command
 * of a shard that is not held is left to its holder.
 *
 * Invariant: each is judged, by the journal's knowledge, or its term is over. When more than 1,000
 * wait, all recent commands are looked up in the journal instead. If a command turns out not to be
 * over, it stays in memory, if there is room.
 */
export class OrphanOrders {
  private readonly queue = new Set<string>();
  private overflowed = false;
  private workers = 0;
  private readonly deps: OrphanOrdersDeps;
  private readonly options: CommandOptions;

  constructor(deps: OrphanOrdersDeps, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
  }

  judgeLater(commandId: string): void {
    if (this.queue.size >= maxQueued) this.overflowed = true;
    else this.queue.add(commandId);
    this.start();
  }

  /** Hand-overs were missed: every recent command that has an order is judged. */
  lookUp(): void {
    this.overflowed = true;
    this.start();
  }

  private start(): void {
    for (let idle = this.queue.size + (this.overflowed ? 1 : 0); idle > 0 && this.workers < judgedAtOnce; idle -= 1) {
      this.workers += 1;
      void this.run();
    }
  }

  private async run(): Promise<void> {
    const { clock, random, log, stopped } = this.deps;
    const backoff = new Backoff(random, this.options.journalBackoff);
    let failing = false;
    while (!stopped.aborted) {
      const [commandId] = this.queue;
      if (commandId === undefined && !this.overflowed) break;
      // News that comes while the command is judged puts it on the queue again.
      if (commandId !== undefined) this.queue.delete(commandId);
      try {
        if (commandId === undefined) await this.readRecent();
        else await this.judge(commandId);
        failing = false;
      } catch (err) {
        if (commandId !== undefined) this.queue.add(commandId);
        if (!failing) log.warn({ err }, 'an order of ours could not be matched with its command; trying again');
        failing = true;
        await clock.sleep(backoff.nextMs(), stopped);
      }
    }
    this.workers -= 1;
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
  async judge(commandId: string): Promise<void> {
    const { journal, book, resolving, adopt, clock, held } = this.deps;
    const terms = new Map(held);
    const known = book.get(commandId);
    const command = known?.command ?? (await journal.find(commandId));
    const term = command && terms.get(command.shard);
    if (command === undefined || term === undefined || term.over.aborted) return;
    const nowMs = clock.monotonicMs();
    const entry = known ?? (book.room > 0 ? adopt(command, term) : watchedFrom(command, term, nowMs, nowMs));
    book.retain(entry);
    entry.behind = true;
    await resolving.resolve(entry);
    book.release(entry);
  }
}

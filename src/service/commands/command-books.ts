import type { Command } from '../../domain/command.ts';
import { isUnresolved } from '../../domain/command.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AccountScope } from '../../store/orders/order-reads.ts';
import type { CommandBook } from './command-book.ts';
import type { Watched } from './watched.ts';

/** The commands that were sent and are unresolved. */
export interface SentAndUnresolved {
  readonly unresolved: number;
  /** Wall time: the oldest one's last possible send. */
  readonly oldestUnresolvedMs: number | undefined;
}

/**
 * The books from all terms in the process, as one. It outlives them: a caller waiting for a command
 * is called whichever term follows it.
 */
export class CommandBooks {
  private readonly books = new Set<CommandBook>();
  private readonly waiters = new Map<string, Set<(command: Command) => void>>();
  /** Commands that are watched. */
  watched = 0;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get count(): number {
    return this.books.size;
  }

  add(book: CommandBook): void {
    this.books.add(book);
  }

  remove(book: CommandBook): void {
    this.books.delete(book);
  }

  get(commandId: string): Watched | undefined {
    for (const book of this.books) {
      const entry = book.get(commandId);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  *all(): Generator<Watched> {
    for (const book of this.books) yield* book.all();
  }

  *ofAccount(accountId: string): Generator<Watched> {
    for (const book of this.books) yield* book.ofAccount(accountId);
  }

  /**
   * Calls the given function with every committed version from now
   * on, until the returned function is called.
   */
  listen(commandId: string, listener: (command: Command) => void): () => void {
    const listeners = this.waiters.get(commandId) ?? new Set();
    this.waiters.set(commandId, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.waiters.get(commandId) === listeners) this.waiters.delete(commandId);
    };
  }

  notify(command: Command): void {
    for (const listener of this.waiters.get(command.commandId) ?? []) listener(command);
  }

  sentAndUnresolved(scope: AccountScope): SentAndUnresolved {
    const { clock } = this;
    const watched =
      scope.kind === 'all' ? [...this.all()] : [...new Set(scope.accountIds)].flatMap((id) => [...this.ofAccount(id)]);
    const sent = watched.filter(({ command }) => isUnresolved(command.state) && command.state !== 'open');
    const sentAtMs = Math.min(...sent.map((each) => each.sentAtMs));
    return {
      unresolved: sent.length,
      oldestUnresolvedMs: sent.length === 0 ? undefined : clock.nowMs() - (clock.monotonicMs() - sentAtMs),
    };
  }
}

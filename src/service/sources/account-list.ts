import type { Ambient } from '../../observability/ambient.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { AccountsResult, OrderReads } from '../../venue/order-reads.ts';
import { type AccountStanding, restAskedMs } from './account-access.ts';
import { type FollowInputs, type LoginLists, noteList } from './wanted-accounts.ts';

interface AccountListDeps extends Ambient {
  readonly reads: Pick<OrderReads, 'listAccounts'>;
  readonly follower: Pick<FollowInputs, 'known' | 'isSole'> & {
    mayFollow(accountId: string): boolean;
    /** After each list, also a failed one. */
    wake(): void;
  };
}

const named = 5;

/** One login's list of accounts, read again and again in a term, sooner after a failed one. */
export class AccountList {
  lists: LoginLists = { said: 'nothing', accounts: new Map() };
  /**
   * By account: whether the lists call it simulated. Its session gets each word once: after a
   * shard's move, the stored word may be newer.
   */
  readonly news = new Map<string, boolean>();
  private lastError: string | undefined;
  private readonly deps: AccountListDeps;
  private readonly everyMs: number;

  /** The next one is asked for after `everyMs`, a third more or less. */
  constructor(deps: AccountListDeps, everyMs: number) {
    this.deps = deps;
    this.everyMs = everyMs;
  }

  /** Until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, reads, follower } = this.deps;
    const backoff = new Backoff(random, { firstMs: 1_000, maxMs: this.everyMs });
    while (!signal.aborted) {
      const list = await reads.listAccounts(signal);
      if (signal.aborted) return;
      const before = this.lists;
      this.lists = noteList(before, list, follower, clock.nowMs());
      this.note(list, before);
      follower.wake();
      if (list.complete) backoff.reset();
      await clock.sleep(
        list.complete
          ? this.everyMs * (2 / 3 + (random.next() * 2) / 3)
          : Math.max(backoff.nextMs(), restAskedMs(list.error)),
        signal,
      );
    }
  }

  private note(list: AccountsResult, before: LoginLists): void {
    const { log, follower } = this.deps;
    const reason = list.complete ? undefined : list.error.message;
    if (reason !== undefined && this.lastError !== reason) log.warn({ reason }, 'the accounts could not be listed');
    this.lastError = reason;
    if (!list.complete) return;
    for (const { accountId, isSim } of list.accounts) if (isSim !== undefined) this.news.set(accountId, isSim);
    const { unreadable } = list;
    if (unreadable)
      log.warn({ unreadable }, 'items of the list of accounts have no id: which accounts they are is not known');
    const changed = [...this.lists.accounts].flatMap(([accountId, { standing }]) => {
      const was = before.accounts.get(accountId);
      const word = wordOf(standing);
      return word === (was ? wordOf(was.standing) : 'OPEN') || !follower.mayFollow(accountId)
        ? []
        : [`${accountId}: ${word}`];
    });
    if (changed.length > 0)
      log.warn(
        { count: changed.length, accounts: changed.slice(0, named) },
        'accounts have another status: orders are placed only on those that are OPEN',
      );
  }
}

function wordOf({ isOpen, status = 'no status', unlistedSinceMs }: AccountStanding): string {
  return unlistedSinceMs !== undefined ? 'listed no longer' : isOpen ? 'OPEN' : status;
}

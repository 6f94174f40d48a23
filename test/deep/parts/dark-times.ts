import { percentile } from '../../../bench/percentile.ts';

/**
 * Why an account was dark, where nothing had struck its process: its shard moved by agreement, or
 * the same process connected anew.
 */
const moved = 'moved by agreement';
const reconnected = 'connected anew';
/**
 * Two troubles at once: a process that had the account meanwhile, or took it in the end, was in
 * trouble before it served the account.
 */
const twice = ', and the process that had it then was in trouble too';

interface DarkTime {
  readonly cause: string;
  readonly lastedMs: number;
}

interface Taken {
  readonly accounts: readonly string[];
  /** When it was read. */
  readonly atMs: number;
}

interface Dark {
  readonly holder: Holder;
  readonly cause: string | undefined;
  inTrouble: boolean;
}

interface Holder {
  readonly name: string;
  /** The last time at which it was seen to serve the account. */
  readonly atMs: number;
}

/**
 * How long each account was served by no process. A process serves an account when its status says
 * that the account is live and that the process may act, and while nothing has struck it.
 *
 * A dark time with a second trouble, of the process that was to end it, is counted by itself: it
 * has two troubles' length. That process may be the one that had served the account: it gave it,
 * and was struck before it had, or after it took it again.
 *
 * States of an account: unseen → served ⇄ dark. Times are the test's own clock, and a dark time is
 * exact to the interval between two looks.
 */
export class DarkTimes {
  readonly ended: DarkTime[] = [];
  private readonly served = new Map<string, Holder>();
  private readonly dark = new Map<string, Dark>();
  private readonly struck = new Map<string, string>();
  private readonly hampered = new Set<string>();

  /** The process serves nothing from now on, whatever its last status said. */
  strike(process: string, cause: string): void {
    this.struck.set(process, cause);
  }

  /** It serves its accounts as before, and can take over others only late. */
  hamper(process: string): void {
    this.hampered.add(process);
  }

  /** It was let go, or has been started again: what it says counts again. */
  release(process: string): void {
    this.struck.delete(process);
    this.hampered.delete(process);
  }

  isStruck(process: string): boolean {
    return this.struck.has(process);
  }

  /**
   * One look at all processes: by each one, the accounts that it says to serve, and those that it
   * has taken, served yet or not. Gives the process of each account that is served.
   */
  look(
    atMs: number,
    live: ReadonlyMap<string, readonly string[]>,
    taken: ReadonlyMap<string, Taken> = new Map(),
  ): ReadonlyMap<string, string> {
    for (const [process, accounts] of taken) this.noteTrouble(process, accounts);
    const now = new Map<string, string>();
    for (const [process, accounts] of live)
      if (!this.struck.has(process)) for (const account of accounts) now.set(account, process);
    for (const [account, process] of now) {
      this.endDark(account, process, atMs);
      this.served.set(account, { name: process, atMs });
    }
    for (const [account, holder] of this.served)
      if (!now.has(account) && !this.dark.has(account))
        this.dark.set(account, { holder, cause: this.struck.get(holder.name), inTrouble: false });
    return now;
  }

  /** Accounts that are dark now. */
  get darkNow(): readonly string[] {
    return [...this.dark.keys()];
  }

  /** A line for each cause. */
  report(): readonly string[] {
    const byCause = Map.groupBy(this.ended, ({ cause }) => cause);
    return [...byCause].map(([cause, times]) => {
      const seconds = times.map(({ lastedMs }) => lastedMs / 1000);
      const [p50, p99, most] = [percentile(seconds, 0.5), percentile(seconds, 0.99), Math.max(...seconds)];
      return `dark, ${cause}: ${times.length} times, p50 ${p50.toFixed(1)} s, p99 ${p99.toFixed(1)} s, longest ${most.toFixed(1)} s`;
    });
  }

  private endDark(account: string, process: string, atMs: number): void {
    const dark = this.dark.get(account);
    if (dark === undefined) return;
    this.noteTrouble(process, { accounts: [account], atMs });
    this.dark.delete(account);
    const { holder, cause = process === holder.name ? reconnected : moved, inTrouble } = dark;
    this.ended.push({ cause: inTrouble ? `${cause}${twice}` : cause, lastedMs: atMs - holder.atMs });
  }

  private noteTrouble(process: string, { accounts, atMs }: Taken): void {
    if (!this.struck.has(process) && !this.hampered.has(process)) return;
    for (const account of accounts) {
      const dark = this.dark.get(account);
      // Its trouble may be the cause itself. What it had before the
      // account got dark was about another time.
      const isCause = dark?.holder.name === process && dark.cause !== undefined;
      if (dark !== undefined && !isCause && atMs >= dark.holder.atMs) dark.inTrouble = true;
    }
  }
}

import type { QueryConfig } from 'pg';
import type { Timer } from '../../runtime/clock.ts';
import type { PoolDeps } from '../session/retry-transaction.ts';
import { constraintOf, JournalError, writeOnce } from '../session/write-once.ts';
import { JournalNumbers, OwnAttempts } from './journal-memory.ts';
import { appendValues, type JournalRow } from './journal-rows.ts';
import type { Fence } from './term.ts';

/** A row's answer: see `append_journal`. */
export interface Said {
  readonly said: string;
  readonly order_status: string | null;
  readonly more: unknown;
}

/** One write of a group. */
export interface GroupWrite<T> {
  readonly fence?: Fence;
  /**
   * A command, a key: writes about the same are done one after the other, as they came.
   */
  readonly of: readonly string[];
  /** The same while there are limits: they count the account's openings. */
  readonly account?: string;
  /**
   * Its rows, made as they are sent: everything before it is known then. None, and no `lines`:
   * there is nothing to write any more, and `done` is not called.
   */
  rows(): readonly JournalRow[];
  /** No caller waits for it: for 10 ms it may wait for other writes, and goes with them. */
  readonly mayWait?: boolean;
  /** JSON: audit lines. */
  readonly lines?: string;
  /** In the answer's turn, before another write about the same begins. */
  done(said: readonly Said[], rows: readonly JournalRow[]): T;
  /** Alone, by another statement around the call. */
  readonly around?: (values: readonly unknown[]) => Promise<readonly Said[]>;
}

/** In one group. */
const maxWrites = 50;
/** As batches of ingest: while one waits for its commit, the next one works. */
const maxGroups = 2;
/** Characters of one group, so that a few long ones do not hold up many short ones. */
const maxGroupChars = 1_000_000;
/** Writes under way and waiting: a command has one of them, and audit and results one each. */
const maxPending = 2_000;
/** How long a write that may wait does so. A commit of its own costs as much as a shared one. */
const mostCompanyMs = 10;
/** How long a write waits to be sent, as long as for a connection. */
const waitMs = 5_000;
/** Writes that are asked for alone at one time: groups and reads keep the other connections. */
const maxAlone = 4;

interface Waiting extends GroupWrite<unknown> {
  sinceMs: number;
  isAlone: boolean;
  held: readonly string[];
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface Sent {
  readonly write: Waiting;
  readonly rows: readonly JournalRow[];
}

interface GroupCommitDeps extends PoolDeps {
  /** Writes of a group that was sent. */
  readonly onGroup?: (writes: number) => void;
}

/**
 * The command side's writes at one moment, as one statement and one commit (`append_journal`).
 *
 * A write waits → is under way in a group → is answered. Two groups are under way at most. Nothing
 * waits for a fuller group, unless it may (`mayWait`): writes that come meanwhile are the next.
 *
 * Invariants: two writes about the same command, key or account are never under way together, so
 * their rows follow one another. A write is answered with its own result, or its own objection. If
 * its group met a lock, a deadlock, an index or a passing trouble, it is asked for once more,
 * alone. If a commit's result is not known, it is known for no write in it, and their numbers
 * stay open.
 */
export class GroupCommit {
  private waiting: Waiting[] = [];
  private groupsUnderWay = 0;
  /** The names (`of`) under way. */
  private readonly locked = new Set<string>();
  private timer: Timer | undefined;
  /** Ends the wait for company. */
  private company: Timer | undefined;
  private companyMs = mostCompanyMs;
  private readonly alone: Waiting[] = [];
  private aloneUnderWay = 0;
  private pending = 0;
  readonly numbers: JournalNumbers;
  readonly attempts = new OwnAttempts();
  /** Whether there are limits, as the newest opening was answered. */
  limited = true;
  private readonly deps: GroupCommitDeps;

  constructor(deps: GroupCommitDeps) {
    this.deps = deps;
    this.numbers = new JournalNumbers(deps);
  }

  /**
   * The result from `done`; undefined: there was nothing to write. Rejects with
   * `JournalError`, as `writeOnce` does. `STORE_UNAVAILABLE` also if it could not be sent for five
   * seconds, or if too many wait.
   */
  write<T>(write: GroupWrite<T>): Promise<T | undefined> {
    if (this.pending >= maxPending) return Promise.reject(notSent('too many writes wait'));
    this.pending += 1;
    return new Promise((resolve, reject) => {
      this.waiting.push({
        ...write,
        sinceMs: this.deps.clock.monotonicMs(),
        isAlone: false,
        held: [],
        resolve: (result) => {
          this.pending -= 1;
          resolve(result as T | undefined);
        },
        reject: (error) => {
          this.pending -= 1;
          reject(error);
        },
      });
      this.sendWaiting();
    });
  }

  /** The process ends: from here on nothing waits for company. */
  hurry(): void {
    this.companyMs = 0;
    this.sendWaiting();
  }

  private sendWaiting(): void {
    while (this.groupsUnderWay < maxGroups && this.waiting.some((write) => this.isDue(write))) {
      const group = this.nextGroup();
      if (group.length === 0) break;
      void this.serve(group);
    }
    if (this.waiting.length > 0) this.timer ??= this.deps.clock.after(waitMs, () => this.giveUp());
    else this.stopTimer();
    this.company?.cancel();
    const [oldest] = this.waiting;
    if (oldest === undefined || this.isDue(oldest)) return;
    const leftMs = Math.max(1, oldest.sinceMs + this.companyMs - this.deps.clock.monotonicMs());
    this.company = this.deps.clock.after(leftMs, () => this.sendWaiting());
  }

  private isDue({ mayWait = false, sinceMs }: Waiting): boolean {
    return !mayWait || this.deps.clock.monotonicMs() - sinceMs >= this.companyMs;
  }

  /** The oldest, and as many as fit, each about something else, and about nothing under way. */
  private nextGroup(): Waiting[] {
    const group: Waiting[] = [];
    const left: Waiting[] = [];
    const passedOver = new Set<string>();
    for (const [i, write] of this.waiting.entries()) {
      if (group.length === maxWrites) {
        left.push(...this.waiting.slice(i));
        break;
      }
      const of = write.account === undefined || !this.limited ? write.of : [...write.of, write.account];
      if (of.some((id) => this.locked.has(id) || passedOver.has(id))) {
        for (const id of of) passedOver.add(id);
        left.push(write);
        continue;
      }
      write.held = of;
      for (const id of of) this.locked.add(id);
      if (write.around === undefined) group.push(write);
      else this.askAlone(write);
    }
    this.waiting = left;
    return group;
  }

  private unlock({ held }: Waiting): void {
    for (const id of held) this.locked.delete(id);
  }

  private async serve(group: readonly Waiting[]): Promise<void> {
    this.groupsUnderWay += 1;
    const left = await this.send(group, false);
    for (const write of left) this.unlock(write);
    this.groupsUnderWay -= 1;
    this.waiting.unshift(...left);
    this.sendWaiting();
  }

  /** Never rejects. Resolves with the writes for the next group. */
  private async send(group: readonly Waiting[], alone: boolean): Promise<readonly Waiting[]> {
    const left: Waiting[] = [];
    let asked = group;
    try {
      const sent = await this.rowsOf(group, left);
      asked = sent.map(({ write }) => write);
      if (sent.length === 0) return left;
      if (!alone) this.deps.onGroup?.(sent.length);
      const said = await this.append(sent, alone);
      for (const each of sent) this.answer(each, said.splice(0, each.rows.length), left);
    } catch (error) {
      for (const write of asked) {
        if (isForAlone(error, alone)) this.askAlone(write);
        else this.refuse(write, error);
      }
    }
    return left;
  }

  /** Without writes that came to nothing. A group's characters have a bound. */
  private async rowsOf(group: readonly Waiting[], left: Waiting[]): Promise<readonly Sent[]> {
    await this.numbers.beginBehindOthers(group.flatMap(({ fence }) => (fence === undefined ? [] : [fence.shard])));
    let chars = 0;
    return group.flatMap((write) => {
      const rows = write.rows();
      if (rows.length === 0 && write.lines === undefined) {
        this.unlock(write);
        write.resolve(undefined);
        return [];
      }
      const more = rows.reduce((sum, row) => sum + row.body.length + row.more.length, write.lines?.length ?? 0);
      if (chars > 0 && chars + more > maxGroupChars) {
        left.push(write);
        return [];
      }
      chars += more;
      return [{ write, rows }];
    });
  }

  /** One transaction, and its rows' answers. */
  private async append(sent: readonly Sent[], alone: boolean): Promise<Said[]> {
    const rows = sent.flatMap((each) => each.rows);
    const lines = sent.flatMap(({ write }) => write.lines ?? []);
    const {
      around = (asked: unknown[]) => writeOnce<Said>(this.deps, statementOf(asked), alone ? undefined : isUnsent),
    } = sent[0]?.write ?? {};
    const taken = this.numbers.take(rows.map(({ fence }) => fence));
    try {
      const said = await around(appendValues(rows, taken.seqs, lines, alone));
      this.numbers.close(taken);
      return [...said];
    } catch (error) {
      this.numbers.close(taken, error);
      throw error;
    }
  }

  private answer({ write, rows }: Sent, said: readonly Said[], left: Waiting[]): void {
    const waits = said.find((each) => each.said === 'again' || each.said === 'alone')?.said;
    if (waits === 'alone') this.askAlone(write);
    if (waits === 'again') {
      this.limited = true;
      left.push(write);
    }
    if (waits !== undefined) return;
    try {
      const result = write.done(said, rows);
      this.unlock(write);
      write.resolve(result);
    } catch (error) {
      this.refuse(write, error);
    }
  }

  private refuse(write: Waiting, error: unknown): void {
    this.unlock(write);
    write.reject(error);
  }

  private askAlone(write: Waiting): void {
    if (!write.isAlone) write.sinceMs = this.deps.clock.monotonicMs();
    write.isAlone = true;
    // It may wait for another process for long, and its account's others do not.
    if (write.account !== undefined && write.held.includes(write.account)) {
      this.locked.delete(write.account);
      write.held = write.of;
    }
    this.alone.push(write);
    if (this.aloneUnderWay < maxAlone) void this.serveAlone();
  }

  private async serveAlone(): Promise<void> {
    this.aloneUnderWay += 1;
    for (let write = this.alone.shift(); write !== undefined; write = this.alone.shift()) {
      if (this.isLate(write)) this.refuse(write, notSent('it waited for others that wait for locks'));
      else await this.send([write], true);
      this.sendWaiting();
    }
    this.aloneUnderWay -= 1;
  }

  /** Those that wait for too long were never sent. */
  private giveUp(): void {
    this.timer = undefined;
    const late = this.waiting.filter((write) => this.isLate(write));
    this.waiting = this.waiting.filter((write) => !this.isLate(write));
    for (const write of late) write.reject(notSent('the database takes too long'));
    const oldestMs = Math.min(...this.waiting.map(({ sinceMs }) => sinceMs));
    if (this.waiting.length === 0) return;
    const leftMs = Math.max(1, oldestMs + waitMs - this.deps.clock.monotonicMs());
    this.timer = this.deps.clock.after(leftMs, () => this.giveUp());
  }

  private isLate({ sinceMs }: Waiting): boolean {
    return this.deps.clock.monotonicMs() - sinceMs >= waitMs;
  }

  private stopTimer(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }
}

const call = 'public.append_journal($1, $2, $3, $4)';

/** Its result as one value. */
export const appendedAsJson = `(select json_agg(a order by a.place) from ${call} as a)`;

function statementOf(values: unknown[]): QueryConfig {
  return { name: 'append_journal', text: `select said, order_status, more from ${call}`, values };
}

/**
 * A group was rolled back whole, for a reason that need not be this write's. One alone: another
 * writer had just given its number in the shard.
 */
function isForAlone(error: unknown, alone: boolean): boolean {
  if (alone) return constraintOf(error) === 'journal_pkey';
  return error instanceof JournalError && !isUnsent(error) && error.code !== 'COMMIT_UNKNOWN';
}

/** Nothing of it was sent, or it came to a server that takes no writes. */
function isUnsent({ code }: JournalError): boolean {
  return code === 'STORE_UNAVAILABLE' || code === '25006';
}

function notSent(why: string): JournalError {
  return new JournalError('STORE_UNAVAILABLE', true, new Error(why));
}

import type { Pool } from 'pg';
import type { Timer } from '../../runtime/clock.ts';
import { bigintArray, textArray } from '../orders/binary-array.ts';
import type { RetryDeps } from '../session/retry-transaction.ts';
import { JournalError, refusedBy, writeOnce } from '../session/write-once.ts';
import type { Fence } from './term.ts';

/** One write of the journal: a function of the database (`write_one`), and what it is given. */
export interface JournalWrite {
  readonly name:
    | 'open_command'
    | 'mark_sending'
    | 'step_command'
    | 'note_misses'
    | 'add_command_evidence'
    | 'add_audit_lines'
    | 'mark_published';
  /** Left out: true under any holder of the shard. */
  readonly fence?: Fence;
  /**
   * An account, a command or an attempt by its id: what it locks. Writes with the same are done in
   * their order, but for one that is asked for alone. Left out: it locks nothing.
   */
  readonly of?: readonly string[];
  /** JSON (`storableJson`). */
  readonly body: string;
}

/**
 * Writes of one group. Below 64, the subtransactions of a session that other sessions see without a
 * look at the disk.
 */
const maxWrites = 50;
/** As batches of ingest: while one waits for its commit, the next one works. */
const maxGroups = 2;
/** Characters of one group, so that a few long ones do not hold up many short ones. */
const maxGroupChars = 1_000_000;
/** Writes under way and waiting: a command has one of them, and audit and outcomes one each. */
const maxPending = 2_000;
/** How long a write waits to be sent, as long as for a connection. */
const waitMs = 5_000;
/** Writes that are asked for alone at one time: groups and reads keep the other connections. */
const maxAlone = 4;

interface Waiting extends JournalWrite {
  sinceMs: number;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface Answer {
  readonly result: unknown;
  readonly code: string | null;
  readonly message: string | null;
}

interface GroupCommitDeps extends RetryDeps {
  readonly pool: Pool;
  /** Writes of a group that was sent. */
  readonly onGroup?: (writes: number) => void;
}

/**
 * What the command side writes at one moment, as one statement and one commit (`write_group`).
 *
 * A write waits → is under way in a group → is answered. Two groups are under way at most. Nothing
 * waits for a fuller group: what came while two were under way is the next.
 *
 * Invariants: what locks the same account, command or attempt is never in two groups under way, so
 * it runs in the order in which it came, and no two groups wait for each other in a circle. A write
 * is answered with its own result, or its own objection. Where it met a lock, a deadlock or a
 * trouble that passes, it is asked for once more, alone (`writeOnce`). Where a commit's outcome is
 * not known, it is known for none of its group.
 */
export class GroupCommit {
  private waiting: Waiting[] = [];
  private groupsUnderWay = 0;
  /** `of` of the writes in groups under way. */
  private readonly locked = new Set<string>();
  private timer: Timer | undefined;
  private readonly alone: Waiting[] = [];
  private aloneUnderWay = 0;
  private pending = 0;
  private readonly deps: GroupCommitDeps;

  constructor(deps: GroupCommitDeps) {
    this.deps = deps;
  }

  /**
   * The answer of the database's function, as parsed JSON. Rejects with `JournalError`, as
   * `writeOnce` does. `STORE_UNAVAILABLE` also if it could not be sent for five seconds, or if too
   * many wait.
   */
  write<T>(write: JournalWrite): Promise<T> {
    if (this.pending >= maxPending) return Promise.reject(notSent('too many writes wait'));
    this.pending += 1;
    return new Promise((resolve, reject) => {
      this.waiting.push({
        ...write,
        sinceMs: this.deps.clock.monotonicMs(),
        resolve: (result) => {
          this.pending -= 1;
          resolve(result as T);
        },
        reject: (error) => {
          this.pending -= 1;
          reject(error);
        },
      });
      this.sendWaiting();
    });
  }

  private sendWaiting(): void {
    while (this.groupsUnderWay < maxGroups && this.waiting.length > 0) {
      const group = this.nextGroup();
      if (group.length === 0) break;
      void this.serve(group);
    }
    if (this.waiting.length > 0) this.timer ??= this.deps.clock.after(waitMs, () => this.giveUp());
    else this.stopTimer();
  }

  /** The oldest, and as many as fit, without those that lock the same as a group under way. */
  private nextGroup(): Waiting[] {
    const group: Waiting[] = [];
    const left: Waiting[] = [];
    const passedOver = new Set<string>();
    let chars = 0;
    for (const [i, write] of this.waiting.entries()) {
      const { of = [], body } = write;
      if (group.length === maxWrites || (group.length > 0 && chars + body.length > maxGroupChars)) {
        left.push(...this.waiting.slice(i));
        break;
      }
      if (of.some((id) => this.locked.has(id) || passedOver.has(id))) {
        for (const id of of) passedOver.add(id);
        left.push(write);
      } else {
        chars += body.length;
        group.push(write);
      }
    }
    this.waiting = left;
    return group;
  }

  private async serve(group: readonly Waiting[]): Promise<void> {
    this.groupsUnderWay += 1;
    const ids = group.flatMap(({ of = [] }) => of);
    for (const id of ids) this.locked.add(id);
    const left = await this.send(group);
    for (const id of ids) this.locked.delete(id);
    this.groupsUnderWay -= 1;
    this.waiting.unshift(...left);
    this.sendWaiting();
  }

  /** Never rejects. Resolves with the writes that the group had no time for. */
  private async send(group: readonly Waiting[]): Promise<readonly Waiting[]> {
    this.deps.onGroup?.(group.length);
    let answers: readonly Answer[];
    try {
      answers = await writeOnce<Answer>(this.deps, statementOf(group), isUnsent);
    } catch (error) {
      for (const write of group) {
        // Rolled back whole, for a reason that need not be this write's.
        if (error instanceof JournalError && !isUnsent(error) && error.code !== 'COMMIT_UNKNOWN') this.askAlone(write);
        else write.reject(error);
      }
      return [];
    }
    for (const [i, { result, code, message }] of answers.entries()) {
      const write = group[i];
      if (code === null) write?.resolve(result);
      else if (write !== undefined) this.refuse(write, refusedBy(code, message ?? ''));
    }
    return group.slice(Math.max(1, answers.length));
  }

  private refuse(write: Waiting, error: JournalError): void {
    if (error.retryable) this.askAlone(write);
    else write.reject(error);
  }

  private askAlone(write: Waiting): void {
    write.sinceMs = this.deps.clock.monotonicMs();
    this.alone.push(write);
    if (this.aloneUnderWay < maxAlone) void this.serveAlone();
  }

  private async serveAlone(): Promise<void> {
    this.aloneUnderWay += 1;
    for (let write = this.alone.shift(); write !== undefined; write = this.alone.shift()) {
      if (this.isLate(write)) {
        write.reject(notSent('it waited for others that wait for locks'));
        continue;
      }
      const { name, fence, body } = write;
      try {
        const [row] = await writeOnce<{ result: unknown }>(this.deps, {
          name: 'write_one',
          text: 'select public.write_one($1, $2, $3, $4) as result',
          values: [name, fence?.shard ?? null, fence?.epoch.toString() ?? null, body],
        });
        write.resolve(row?.result ?? null);
      } catch (error) {
        write.reject(error);
      }
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

function statementOf(group: readonly Waiting[]) {
  return {
    name: 'write_group',
    text: 'select result, code, message from public.write_group($1, $2, $3, $4)',
    values: [
      textArray(group.map(({ name }) => name)),
      bigintArray(group.map(({ fence }) => fence?.shard ?? null)),
      bigintArray(group.map(({ fence }) => fence?.epoch ?? null)),
      textArray(
        group.map(({ body }) => body),
        'json',
      ),
    ],
  };
}

/** Nothing of it was sent, or it came to a server that takes no writes. */
function isUnsent({ code }: JournalError): boolean {
  return code === 'STORE_UNAVAILABLE' || code === '25006';
}

function notSent(why: string): JournalError {
  return new JournalError('STORE_UNAVAILABLE', true, new Error(why));
}

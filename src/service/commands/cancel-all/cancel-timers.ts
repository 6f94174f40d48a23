import type { CancelTimer } from '../../../store/commands/halts-journal.ts';
import type { Term } from '../../../store/commands/term.ts';
import { type Answer, anotherLeads, type Declined, declined } from '../answer.ts';
import type { CommandParts, SendingTerm } from '../command-parts.ts';
import type { CancelAfter, TimersSet } from '../commands.ts';
import type { CancelAlls } from './cancel-all.ts';

interface CancelTimersDeps extends CommandParts {
  readonly maySend: (shard: number) => Answer<SendingTerm>;
  /** Why the account may not be traded on either stream. */
  readonly objection: (accountId: string) => Declined | undefined;
  readonly cancelAlls: CancelAlls;
}

/** Timers being changed, or fired. */
interface Change {
  readonly keys: readonly string[];
  /** Monotonic. A look that begins later finds what came of it. */
  overAtMs: number;
}

/** A switch fires up to so much later than it runs out. */
const lookEveryMs = 1_000;
/**
 * A change whose answer was lost may commit so much later. Longer than a statement of the journal
 * may take.
 */
const inDoubtMs = 6_000;

/**
 * The dead man's switch: when a principal falls silent, its accounts' open orders are cancelled.
 *
 * A timer's states: armed → run out → ended, once a cancel-all for its account is in the journal.
 * The cancel-all then stays in force until it is done, over restarts and takeovers. One look a
 * second asks the journal which timers of the held shards have run out, by its clock; no look is
 * made while none is armed.
 *
 * Invariants: only the shard's holder changes and fires timers, so none is armed that it has not
 * set, or found when it took the shard. No timer fires by a look that began before a change of it
 * was over. A timer fires with its own id as the key: fired again, by this process or the next, it
 * is the same cancel-all.
 */
export class CancelTimers {
  /** As the last look found them, or as they were set since. */
  private armed = new Map<string, CancelTimer>();
  private readonly changes = new Set<Change>();
  /** Timers whose first try is in the log, by id. */
  private readonly reported = new Set<string>();
  private running = false;
  private again = false;
  private readonly deps: CancelTimersDeps;

  constructor(deps: CancelTimersDeps) {
    this.deps = deps;
  }

  /** A shard was taken: those that ran out while it had no holder fire at once. */
  begin(): void {
    this.again = true;
    if (this.running) return;
    this.running = true;
    void this.run();
  }

  /** The shard's term is over. */
  end(shard: number): void {
    for (const [key, timer] of this.armed) if (timer.shard === shard) this.armed.delete(key);
    this.show();
  }

  /** The accounts whose timers the call is about. */
  meant(shard: number, { principal, implied, afterMs, accountIds }: Omit<CancelAfter, 'requestId'>): readonly string[] {
    if (implied !== true || afterMs === 0) return accountIds;
    const isUnknown = (accountId: string) => this.deps.objection(accountId)?.code === 'ACCOUNT_NOT_FOUND';
    const isArmed = (accountId: string) => this.armed.has(keyOf({ shard, principal, accountId }));
    return accountIds.filter((accountId) => isArmed(accountId) || !isUnknown(accountId));
  }

  /** Why timers of these accounts are not set just now. */
  refusal(shard: number, asked: Omit<CancelAfter, 'requestId'>): Declined | undefined {
    const { principal, implied, afterMs, accountIds } = asked;
    const under = this.deps.maySend(shard);
    if ('code' in under) return under;
    if (afterMs === 0) return undefined;
    const objections = accountIds.map((accountId) => {
      const objection = this.deps.objection(accountId);
      const isArmed = this.armed.has(keyOf({ shard, principal, accountId }));
      // An armed timer would cancel for want of a renewal, although its caller is there.
      const passes = implied === true ? ['SOURCE_NOT_LIVE', 'ACCOUNT_NOT_FOUND'] : ['SOURCE_NOT_LIVE'];
      return isArmed && objection !== undefined && passes.includes(objection.code) ? undefined : objection;
    });
    // A caller must not rely on a timer that could not cancel.
    return objections.find((each) => each !== undefined);
  }

  /**
   * Arms, renews or disarms what has no `refusal`. Declined: the timers are as they were. Never
   * rejects.
   */
  async set(shard: number, asked: CancelAfter): Promise<Answer<TimersSet>> {
    const { principal, afterMs, accountIds, requestId } = asked;
    const { journal, maySend, random, clock, log, record } = this.deps;
    const under = maySend(shard);
    if ('code' in under) return under;
    const { term } = under;
    const timers = accountIds.map((accountId) => ({ accountId, timerId: random.uuid() }));
    const keys = accountIds.map((accountId) => keyOf({ shard, principal, accountId }));
    const change = this.change(keys);
    try {
      const firesAtMs = await journal.setCancelTimers({ principal, afterMs, timers }, term.fence);
      change.overAtMs = clock.monotonicMs();
      if (firesAtMs === undefined || term.over.aborted) return anotherLeads;
      const changed = afterMs === 0 || keys.some((key) => !this.armed.has(key));
      for (const timer of timers) {
        const set = { ...timer, shard, principal, leftMs: afterMs };
        if (afterMs === 0) this.armed.delete(keyOf(set));
        else this.armed.set(keyOf(set), set);
      }
      this.show();
      const action = afterMs === 0 ? 'cancel_after_disarm' : 'cancel_after_arm';
      // Renewals are not recorded: they come every few seconds.
      if (changed)
        for (const accountId of accountIds) record({ principal, action, accountId, requestId, detail: { afterMs } });
      return { kind: 'done', accountIds, declined: [], ...(afterMs > 0 && { firesAtMs }) };
    } catch (err) {
      change.overAtMs = clock.monotonicMs() + inDoubtMs;
      log.warn({ err, requestId }, "timers of a dead man's switch could not be written");
      return declined(
        'STORE_UNAVAILABLE',
        'the database could not be reached; the timers may be as they were or as asked',
        1_000,
      );
    }
  }

  private change(keys: readonly string[]): Change {
    const change = { keys, overAtMs: Number.POSITIVE_INFINITY };
    this.changes.add(change);
    this.begin();
    return change;
  }

  private async run(): Promise<void> {
    const { clock, log, held, stopped } = this.deps;
    let failing = false;
    while (!stopped.aborted && held.size > 0 && (this.again || this.armed.size + this.changes.size > 0)) {
      this.again = false;
      try {
        await this.look();
        failing = false;
      } catch (err) {
        this.again = true;
        if (!failing) log.warn({ err }, "the timers of dead man's switches could not be read; trying again");
        failing = true;
      }
      await clock.sleep(lookEveryMs, stopped);
    }
    this.running = false;
  }

  private async look(): Promise<void> {
    const { journal, clock, held } = this.deps;
    const nowMs = clock.monotonicMs();
    for (const change of this.changes) if (change.overAtMs <= nowMs) this.changes.delete(change);
    const terms = new Map(held);
    const found = await journal.armedCancelTimers([...terms.keys()]);
    const changing = new Set([...this.changes].flatMap(({ keys }) => keys));
    const isHeld = ({ shard }: CancelTimer) => terms.get(shard)?.over.aborted === false;
    const resolved = found.filter((timer) => isHeld(timer) && !changing.has(keyOf(timer)));
    const kept = [...this.armed].filter(([key]) => changing.has(key));
    this.armed = new Map([...resolved.map((timer) => [keyOf(timer), timer] as const), ...kept]);
    const ids = new Set([...this.armed.values()].map(({ timerId }) => timerId));
    for (const id of this.reported) if (!ids.has(id)) this.reported.delete(id);
    this.show();
    for (const timer of resolved) {
      const term = terms.get(timer.shard);
      if (timer.leftMs === 0 && term !== undefined) void this.fire(timer, term);
    }
  }

  /** One try: until its cancel-all is written down, each look makes the next one. */
  private async fire(timer: CancelTimer, term: Term): Promise<void> {
    const { journal, clock, log, metrics } = this.deps;
    const { shard, timerId, principal, accountId } = timer;
    const about = { principal, accountId, timerId };
    const change = this.change([keyOf(timer)]);
    const isFirst = !this.reported.has(timerId);
    this.reported.add(timerId);
    if (isFirst) log.warn(about, 'a principal has fallen silent: the orders of its account are cancelled');
    const word = {
      ...{ by: principal, requestId: timerId, idempotencyKey: `cancel-after:${timerId}` },
      reason: 'cancel-after: the principal has not renewed its timer',
    };
    const result = await this.deps.cancelAlls.run(shard, { kind: 'account', accountId }, word);
    if (result.kind === 'declined') {
      if (isFirst) log.error({ ...about, code: result.code }, "a dead man's switch could not cancel; trying again");
    } else if (await journal.endCancelTimer(timerId, term.fence).catch(() => false)) {
      metrics.cancelAfter.inc({ result: result.open ? 'open' : 'in_hand' });
      if (result.open) log.error(about, "orders may be open after a dead man's switch has fired");
      if (this.armed.get(keyOf(timer))?.timerId === timerId) this.armed.delete(keyOf(timer));
      this.show();
    }
    change.overAtMs = clock.monotonicMs();
  }

  private show(): void {
    const timers = [...this.armed.values()];
    const overdue = timers.filter(({ leftMs }) => leftMs === 0).length;
    const { cancelTimers } = this.deps.metrics;
    cancelTimers.set({ state: 'armed' }, timers.length - overdue);
    cancelTimers.set({ state: 'overdue' }, overdue);
  }
}

function keyOf({ shard, principal, accountId }: Pick<CancelTimer, 'shard' | 'principal' | 'accountId'>): string {
  return JSON.stringify([shard, principal, accountId]);
}

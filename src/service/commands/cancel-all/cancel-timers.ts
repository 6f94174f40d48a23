import type { Ambient } from '../../../observability/ambient.ts';
import type { Metrics } from '../../../observability/metrics.ts';
import { Backoff } from '../../../runtime/backoff.ts';
import type { Timer } from '../../../runtime/clock.ts';
import type { AuditTrailEntry, CommandJournal } from '../../../store/commands/command-journal.ts';
import type { CancelTimer } from '../../../store/commands/stops-journal.ts';
import type { Term } from '../../../store/commands/term.ts';
import { type Answer, anotherLeads, type Declined, declined } from '../answer.ts';
import type { CommandOptions } from '../command-options.ts';
import type { CancelAll, CancelAllScope, TimersSet } from '../commands.ts';
import type { SendingTerm } from '../sending-term.ts';
import { untilAnswered } from '../until-answered.ts';
import type { CancelAllWord } from './cancel-all.ts';

interface CancelTimersDeps extends Ambient {
  readonly journal: Pick<CommandJournal, 'setCancelTimers' | 'armedCancelTimers' | 'endCancelTimer'>;
  readonly metrics: Metrics['commands'];
  readonly maySend: () => Answer<SendingTerm>;
  /** Why the account may not be traded on either stream. */
  readonly objection: (accountId: string) => Declined | undefined;
  readonly cancelAll: (scope: CancelAllScope, word: CancelAllWord) => Promise<Answer<CancelAll>>;
  readonly record: (entry: Omit<AuditTrailEntry, 'atMs'>) => void;
}

export interface CancelAfter {
  readonly principal: string;
  /** 0: disarms. */
  readonly afterMs: number;
  readonly accountIds: readonly string[];
  /** The caller named no accounts: those that are not followed now are left out. */
  readonly implied?: boolean;
  readonly requestId: string;
}

type CancelTimersOptions = Pick<CommandOptions, 'journalBackoff'> & { readonly shard: number };

const again = { firstMs: 500, maxMs: 5_000 };
/** Longer than a statement of the journal may take. */
const inDoubtMs = 6_000;

/**
 * The dead man's switch: when a principal falls silent, its accounts' open orders are cancelled.
 *
 * A timer's states: armed → run out → ended, once a cancel-all for its account is in the journal.
 * The cancel-all then stays in force until it is done, over restarts and takeovers. Invariants:
 * only the shard's holder changes and fires timers, so its memory has them all. A timer fires with
 * its own id as the key: fired again, by this process or the next, it is the same cancel-all.
 */
export class CancelTimers {
  private readonly armed = new Map<string, { readonly timer: CancelTimer; readonly alarm: Timer }>();
  /** Timers run out and not ended, by id. */
  private readonly overdue = new Set<string>();
  /** The newest change under way of each timer. */
  private readonly renewing = new Map<string, Promise<unknown>>();
  /** The term of the read that follows a lost answer. */
  private doubting: Term | undefined;
  /** Rises when a journal change ends: timers read before may be out of date. */
  private changes = 0;
  /** This shard's part of the gauges. */
  private shown = { armed: 0, overdue: 0 };
  private readonly deps: CancelTimersDeps;
  private readonly options: CancelTimersOptions;

  constructor(deps: CancelTimersDeps, options: CancelTimersOptions) {
    this.deps = deps;
    this.options = options;
  }

  /**
   * Takes up the journal's timers, in the background: those that ran out while the shard had no
   * holder fire at once.
   */
  begin(term: Term): void {
    void this.takeUp(term);
  }

  end(): void {
    for (const { alarm } of this.armed.values()) alarm.cancel();
    this.armed.clear();
    this.overdue.clear();
    this.show();
  }

  /** The accounts whose timers the call is about. */
  meant({ principal, implied, afterMs, accountIds }: Omit<CancelAfter, 'requestId'>): readonly string[] {
    if (implied !== true || afterMs === 0) return accountIds;
    const isUnknown = (accountId: string) => this.deps.objection(accountId)?.code === 'ACCOUNT_NOT_FOUND';
    return accountIds.filter((accountId) => this.armed.has(keyOf({ principal, accountId })) || !isUnknown(accountId));
  }

  /** Why timers of these accounts are not set just now. */
  refusal({ principal, implied, afterMs, accountIds }: Omit<CancelAfter, 'requestId'>): Declined | undefined {
    const under = this.deps.maySend();
    if ('code' in under) return under;
    if (afterMs === 0) return undefined;
    const objections = accountIds.map((accountId) => {
      const objection = this.deps.objection(accountId);
      const isArmed = this.armed.has(keyOf({ principal, accountId }));
      // An armed timer would cancel for want of a renewal, although its caller is there.
      const passes = implied === true ? ['SOURCE_NOT_LIVE', 'ACCOUNT_NOT_FOUND'] : ['SOURCE_NOT_LIVE'];
      return isArmed && objection !== undefined && passes.includes(objection.code) ? undefined : objection;
    });
    // A caller must not rely on a timer that could not cancel.
    return objections.find((each) => each !== undefined);
  }

  /** Arms, renews or disarms. Declined: the timers are as they were. Never rejects. */
  async set(asked: CancelAfter): Promise<Answer<TimersSet>> {
    const { principal, afterMs, accountIds, requestId } = asked;
    const { journal, maySend, random, log, record } = this.deps;
    const refused = this.refusal(asked);
    if (refused !== undefined) return refused;
    const under = maySend();
    if ('code' in under) return under;
    const timers = accountIds.map((accountId) => ({ accountId, timerId: random.uuid() }));
    const { term } = under;
    const keys = accountIds.map((accountId) => keyOf({ principal, accountId }));
    const written = journal.setCancelTimers({ principal, afterMs, timers }, term.fence).finally(() => {
      this.changes += 1;
      for (const key of keys) if (this.renewing.get(key) === written) this.renewing.delete(key);
    });
    for (const key of keys) this.renewing.set(key, written);
    try {
      const firesAtMs = await written;
      if (firesAtMs === undefined || term.over.aborted) return anotherLeads;
      const known = keys.map((key) => this.armed.get(key));
      const changed = afterMs === 0 || known.some((each) => each === undefined);
      for (const timer of timers) this.arm({ ...timer, principal, leftMs: afterMs }, term, afterMs === 0);
      this.show();
      const action = afterMs === 0 ? 'cancel_after_disarm' : 'cancel_after_arm';
      // Renewals are not recorded: they come every few seconds.
      if (changed)
        for (const accountId of accountIds) record({ principal, action, accountId, requestId, detail: { afterMs } });
      return { kind: 'done', accountIds, declined: [], ...(afterMs > 0 && { firesAtMs }) };
    } catch (err) {
      log.warn({ err, requestId }, "timers of a dead man's switch could not be written");
      void this.readAfterDoubt(term);
      return declined(
        'STORE_UNAVAILABLE',
        'the database could not be reached; the timers may be as they were or as asked',
        1_000,
      );
    }
  }

  private arm(timer: CancelTimer, term: Term, off = false): void {
    const key = keyOf(timer);
    const before = this.armed.get(key);
    before?.alarm.cancel();
    if (before !== undefined) this.overdue.delete(before.timer.timerId);
    if (off) this.armed.delete(key);
    else this.armed.set(key, { timer, alarm: this.deps.clock.after(timer.leftMs, () => void this.fire(timer, term)) });
  }

  /** Tries until its cancel-all is written down, the timer was renewed, or the term is over. */
  private async fire(timer: CancelTimer, term: Term): Promise<void> {
    const { clock, random, log, metrics } = this.deps;
    const { timerId, principal, accountId } = timer;
    const isCurrent = () => !term.over.aborted && this.armed.get(keyOf(timer))?.timer.timerId === timerId;
    this.overdue.add(timerId);
    this.show();
    log.warn(
      { principal, accountId, timerId },
      'a principal has fallen silent: the orders of its account are cancelled',
    );
    const backoff = new Backoff(random, again);
    const word = {
      ...{ by: principal, requestId: timerId, idempotencyKey: `cancel-after:${timerId}` },
      reason: 'cancel-after: the principal has not renewed its timer',
    };
    // One that is being renewed now may be renewed in time: the database decides by its clock.
    await this.renewing.get(keyOf(timer))?.catch(() => undefined);
    for (let logged = false; isCurrent(); ) {
      const result = await this.deps.cancelAll({ kind: 'account', accountId }, word);
      if (result.kind === 'done' && (await this.ended(timerId, term))) {
        metrics.cancelAfter.inc({ outcome: result.open ? 'open' : 'in_hand' });
        if (result.open)
          log.error({ principal, accountId, timerId }, "orders may be open after a dead man's switch has fired");
        if (isCurrent()) this.armed.delete(keyOf(timer));
        break;
      }
      if (result.kind === 'declined' && !logged) {
        logged = true;
        log.error(
          { principal, accountId, timerId, code: result.code },
          "a dead man's switch could not cancel; trying again",
        );
      }
      await clock.sleep(backoff.nextMs(), term.over);
    }
    this.overdue.delete(timerId);
    this.show();
  }

  private async ended(timerId: string, { fence }: Term): Promise<boolean> {
    return this.deps.journal.endCancelTimer(timerId, fence).catch(() => false);
  }

  /** The lost answer may have been of a commit, by now or until the statement's own deadline. */
  private async readAfterDoubt(term: Term): Promise<void> {
    if (this.doubting === term) return;
    this.doubting = term;
    await this.deps.clock.sleep(inDoubtMs, term.over);
    this.doubting = undefined;
    if (!term.over.aborted) await this.takeUp(term);
  }

  private async takeUp(term: Term): Promise<void> {
    const { journal, clock, random, log } = this.deps;
    for (;;) {
      const { changes } = this;
      const timers = await untilAnswered(() => journal.armedCancelTimers(this.options.shard), {
        clock,
        backoff: new Backoff(random, this.options.journalBackoff),
        over: term.over,
        onFailure: (err) => log.warn({ err }, "the timers of dead man's switches could not be read; trying again"),
      });
      if (timers === undefined || term.over.aborted) return;
      // Read again: a timer that was disarmed meanwhile may be among them.
      if (changes !== this.changes) continue;
      const read = new Map(timers.map((timer) => [keyOf(timer), timer]));
      for (const [key, { timer }] of [...this.armed]) if (!read.has(key)) this.arm(timer, term, true);
      for (const [key, timer] of read) if (this.armed.get(key)?.timer.timerId !== timer.timerId) this.arm(timer, term);
      this.show();
      return;
    }
  }

  private show(): void {
    const { cancelTimers } = this.deps.metrics;
    const now = { armed: this.armed.size - this.overdue.size, overdue: this.overdue.size };
    for (const state of ['armed', 'overdue'] as const) cancelTimers.inc({ state }, now[state] - this.shown[state]);
    this.shown = now;
  }
}

function keyOf({ principal, accountId }: Pick<CancelTimer, 'principal' | 'accountId'>): string {
  return JSON.stringify([principal, accountId]);
}

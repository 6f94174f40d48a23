import { parseInstant } from '../../domain/instant.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Stream } from '../../domain/order.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { cautiousWallMs, type Moment, momentOf } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { AccountRecord } from '../../store/fleet/account-registry.ts';
import type { PlatformError } from '../../venue/platform/platform-error.ts';
import type { AccountAccess } from './account-access.ts';
import { concernsWholeAccount } from './account-access.ts';
import { AccountLooks } from './account-looks.ts';
import { AccountParts, type AccountPartsDeps } from './account-parts.ts';
import type { Connection, SubscribeOutcome } from './connection.ts';
import { Continuity } from './continuity.ts';
import { Handover } from './handover.ts';
import type { ReadOutcome } from './read-progress.ts';
import type { ConnectionEnd } from './socket.ts';
import type { AccountReading, AccountState, AccountStatus } from './source-status.ts';
import type { StreamTimings } from './stream-timings.ts';
import { TimerSet } from './timer-set.ts';

export interface SessionDeps extends AccountPartsDeps {
  readonly random: Random;
}

export interface SessionOptions {
  readonly stream: Stream;
  readonly timings: StreamTimings;
  /**
   * The account's orders may no longer be compared with the rows of the
   * open connections: close them, open another.
   */
  readonly onStoreLost: (session: AccountSession) => void;
}

/** Gaps reported by the platform make us read again at most this often. */
const gapRestMs = 30_000;
const unansweredText = 'the platform does not answer the subscription of this account; it is asked again';

/**
 * One account on one stream: from the subscription to live, and back when its connection ends.
 *
 * States: see `AccountState`. connecting → resyncing (acknowledged) → live (a complete read that
 * began after it was committed) → connecting or down (the connection ended) …; also not_enrolled,
 * login_required (asked again in time) and frozen (`StoreLost`). Invariant: `live` holds only while
 * `attached` is a connection that acknowledged the subscription and, since before the last complete
 * read began, no moment between it and the connection before it was without cover. The goodbye of
 * the earlier connection proves that it covered the time until its end: a connection that was half
 * open already answers none, and then the account is read again. Until then the account does not
 * become live, and nothing is complete beyond its last pong.
 */
export class AccountSession {
  readonly accountId: string;
  /** For the rooms that send commands and settle them. */
  readonly access: AccountAccess;
  lastEventMs: number | undefined;
  private state: AccountState = 'connecting';
  private sinceMs: number;
  /** The platform's newest word. */
  private isSim: boolean;
  private lastResyncMs: number | undefined;
  private lastAuditMs: number | undefined;
  private lastError: string | undefined;
  private attached: Connection | undefined;
  /** From the connections that `attached` took over from. */
  private readonly handover = new Handover();
  private whenProven: () => void = () => {};
  /**
   * Monotonic time of the newest row that reported a gap. A lost store shows in the state `frozen`
   * instead: its orders report it for as long as they live.
   */
  private gapShownMs = Number.NEGATIVE_INFINITY;
  /** Subscriptions that the platform has not answered yet. */
  private attaching = 0;
  /** Connections that did not answer in time and are asked again. */
  private readonly unanswered = new Set<Connection>();
  private retryAtMs = Number.NEGATIVE_INFINITY;
  private gapAtMs = Number.NEGATIVE_INFINITY;
  /**
   * Aborts when the account leaves the connection: reads that should make
   * it live, and audits, prove nothing then.
   */
  private coverage = new AbortController();
  private readonly life = new AbortController();
  private readonly timers: TimerSet;
  private readonly parts: AccountParts;
  private readonly continuity: Continuity;
  private readonly deps: SessionDeps;
  private readonly options: SessionOptions;

  constructor(deps: SessionDeps, options: SessionOptions, record: AccountRecord) {
    const { stream } = options;
    const { accountId, readUpTo } = record;
    this.deps = deps;
    this.options = options;
    this.accountId = accountId;
    this.isSim = record.isSim;
    this.sinceMs = deps.clock.nowMs();
    this.timers = new TimerSet(deps.clock);
    // By the platform's clock, which may be ahead of ours.
    const readUpToMs = readUpTo === undefined ? undefined : Number((parseInstant(readUpTo) ?? 0n) / 1_000_000n);
    const knownUpToMs = readUpToMs === undefined ? undefined : Math.min(readUpToMs, this.sinceMs);
    const { signal } = this.life;
    const guard = (observation: Observation) => this.withholds(observation);
    this.parts = new AccountParts(deps, { ...options, signal, guard }, record);
    this.continuity = new Continuity(deps, { stream, accountId, knownUpToMs });
    const standing = () => ({
      live: this.state === 'live',
      certain: this.isCertain(),
      isSim: this.isSim,
      notEnrolled: this.state === 'not_enrolled',
    });
    this.access = new AccountLooks({ ...deps, ...this.parts }, { stream, accountId, signal, standing });
  }

  /**
   * What the platform calls the account now. It counts at once: a real one must not be
   * traded as a simulated one until the database answers. A save that failed is made with
   * the next list.
   */
  noteSimulated(isSim: boolean): void {
    if (isSim !== this.isSim)
      this.deps.log.warn(
        this.about({ isSim }),
        `the platform calls the account ${isSim ? 'simulated' : 'real'} now, and did not before`,
      );
    this.isSim = isSim;
    if (this.parts.reader.record.isSim === isSim) return;
    const asNow = (record: AccountRecord) => (record.isSim === this.isSim ? record : { ...record, isSim: this.isSim });
    this.parts.reader
      .save(asNow)
      .catch((err: unknown) => this.deps.log.warn(this.about({ err }), 'whether the account is simulated is not kept'));
  }

  /**
   * Subscribes on the connection, unless the account was refused lately. Resolves when the platform
   * has answered or is late, or the connection has ended.
   */
  async attach(connection: Connection): Promise<void> {
    const { retryAtMs } = this;
    if (this.life.signal.aborted || this.deps.clock.monotonicMs() < retryAtMs) return;
    this.retryAtMs = Number.NEGATIVE_INFINITY;
    this.attaching += 1;
    const { outcome, missed } = connection.subscribe(this.accountId);
    const answered = outcome.then((answer) => {
      this.attaching -= 1;
      this.unanswered.delete(connection);
      this.answered(answer, connection, retryAtMs);
    });
    await Promise.race([answered, missed.then(() => this.notAnswered(connection))]);
  }

  /**
   * It is asked again for as long as the connection lives; the other
   * accounts of the connection are not affected.
   */
  private notAnswered(connection: Connection): void {
    if (this.life.signal.aborted || !connection.isOpen) return;
    this.unanswered.add(connection);
    this.deps.log.warn(this.about({}), 'a subscription is not answered');
    if (this.attached === undefined && this.state !== 'frozen') this.enter('unanswered', unansweredText);
  }

  private answered(outcome: SubscribeOutcome, connection: Connection, retryAtMs: number): void {
    if (this.life.signal.aborted) return;
    // Answer and end may come in one piece: then `ended` ran before we got here.
    if (outcome.kind === 'ended' || !connection.isOpen) {
      this.retryAtMs = retryAtMs;
      return;
    }
    // The newer connection was quicker, and the older one is about to be closed.
    if (this.attached !== undefined && this.attached.token.generation > connection.token.generation) return;
    if (outcome.kind === 'refused') {
      this.refused({ code: outcome.code, message: outcome.message, status: 403, retryable: false, sent: 'yes' });
      return;
    }
    const before = this.attached;
    this.attached = connection;
    // Make before break: the old connection delivers until after this acknowledgement, so nothing
    // was missed between the two; its goodbye will prove it.
    if (before !== undefined && before !== connection && !this.parts.storeLost.active) {
      this.handover.takeOver([before]);
      return;
    }
    this.handover.clear();
    this.coverage.abort();
    this.coverage = new AbortController();
    this.parts.storeLost.forgetHeld();
    void this.resync(connection, this.coverage.signal);
  }

  /** An event of this account. `upTo`: what its connection had sent before then was read. */
  row(row: unknown, text: string, receivedMs: number, upTo: Moment): void {
    this.lastEventMs = this.deps.clock.nowMs();
    const item = this.parts.intake.takeRow(row, { cause: 'stream', receivedMs, bytes: text.length, raw: () => text });
    if (item.kind === 'order') {
      this.parts.audit.delivered(item);
      if (item.view.certainty === 'unknown_gap') this.gap(upTo);
    } else if (item.kind === 'withheld') {
      this.parts.storeLost.hold({ row, text, receivedMs, upTo });
    } else if (item.kind === 'unreadable' && item.orderId !== undefined) {
      this.parts.unrecovered.loseOrder(item.orderId, upTo);
    } else if (item.kind === 'unreadable') {
      this.parts.unrecovered.loseAnything(upTo);
    }
  }

  /** A frame came that cannot be read, and that may be of this account. */
  frameLost(upTo: Moment): void {
    this.parts.unrecovered.loseAnything(upTo);
  }

  ended(connection: Connection, end: ConnectionEnd): void {
    if (this.handover.has(connection)) this.replacedEnded(connection, end);
    if (connection !== this.attached) return;
    this.leave(end.reason);
    if (this.state === 'frozen') return;
    if (this.unanswered.size > 0) this.enter('unanswered', unansweredText);
    else this.enter('connecting', end.detail);
  }

  /** There is no connection, and the attempt at one failed. */
  disconnected(state: 'down' | 'login_required', reason: string): void {
    if (this.attached !== undefined || this.state === 'not_enrolled' || this.state === 'frozen') return;
    this.enter(state, reason);
  }

  /** Up to here the account is complete; undefined while it is not live. */
  get completeUpTo(): Moment | undefined {
    return this.continuity.isLive ? this.provenUpTo() : undefined;
  }

  stop(): void {
    this.leave('stopped');
    this.life.abort();
    this.parts.audit.stop();
    this.timers.stop();
  }

  reading(): AccountReading {
    const { state, lastResyncMs, lastAuditMs } = this;
    const { unrecovered, doubts, absent } = this.parts;
    const counts = { unrecovered: unrecovered.count, inDoubt: doubts.count, absent: absent.shown };
    return { state, lastResyncMs, lastAuditMs, ...counts };
  }

  status(): AccountStatus {
    const { accountId, state, sinceMs, lastEventMs, lastResyncMs, lastAuditMs, lastError } = this;
    return {
      accountId,
      state,
      sinceMs,
      sourceEpoch: this.parts.intake.sourceEpoch,
      unrecovered: this.parts.unrecovered.count,
      inDoubt: this.parts.doubts.count,
      absent: this.parts.absent.shown,
      silentLosses: this.parts.audit.silentLosses,
      ...(lastEventMs !== undefined && { lastEventMs }),
      ...(lastResyncMs !== undefined && { lastResyncMs }),
      ...(lastAuditMs !== undefined && { lastAuditMs, lastAuditFound: this.parts.audit.found }),
      ...(lastError !== undefined && { lastError }),
    };
  }

  private async resync(connection: Connection, signal: AbortSignal): Promise<void> {
    const { clock, random, metrics } = this.deps;
    const backoff = new Backoff(random, { firstMs: 500, maxMs: 30_000 });
    const startedMs = clock.monotonicMs();
    if (!this.parts.storeLost.active) this.enter('resyncing');
    while (!signal.aborted) {
      // All frames of one burst come before the read, so that each of
      // them is not a reason for another read.
      await clock.turn();
      if (signal.aborted) return;
      const { mark } = this.parts.unrecovered;
      const began = momentOf(clock);
      const outcome = this.parts.storeLost.active
        ? await this.recover(signal)
        : await this.parts.reader.read('resync', signal);
      if (signal.aborted) return;
      // Frames lost since the read began may not be in it.
      if (outcome.complete && !this.parts.unrecovered.since(mark)) {
        this.lastResyncMs = clock.nowMs();
        metrics.resyncSeconds.observe({ source: this.options.stream }, (clock.monotonicMs() - startedMs) / 1000);
        this.whenProven = () => {
          this.whenProven = () => {};
          if (this.parts.unrecovered.since(mark)) void this.resync(connection, signal);
          else this.becomeLive(outcome.rows, began, signal);
        };
        if (this.handover.isProven) this.whenProven();
        return;
      }
      if (!outcome.complete && concernsWholeAccount(outcome.error)) {
        connection.unsubscribe(this.accountId);
        this.refused(outcome.error);
        return;
      }
      this.lastError = outcome.complete ? 'frames were lost while the account was read' : outcome.error.message;
      await clock.sleep(backoff.nextMs(), signal);
    }
  }

  private async recover(signal: AbortSignal): Promise<ReadOutcome> {
    const outcome = await this.parts.storeLost.recover(signal);
    if (!outcome.complete || signal.aborted) return outcome;
    const { sourceEpoch } = this.parts.intake;
    this.deps.log.warn(
      this.about({ sourceEpoch, rows: outcome.rows }),
      'the platform lost its store: read whole under a new source epoch',
    );
    for (const held of outcome.frames ?? []) this.row(held.row, held.text, held.receivedMs, held.upTo);
    return outcome.resync === true ? this.parts.reader.read('resync', signal) : outcome;
  }

  /**
   * Rows missed while the connection was dead unnoticed are in no
   * later frame: the account is read again.
   */
  private replacedEnded(connection: Connection, { goodbye }: ConnectionEnd): void {
    if (!goodbye) this.readAgain('replaced_unproven');
    this.handover.ended(connection, goodbye === true);
    if (this.handover.isProven) this.whenProven();
  }

  /**
   * Up to here nothing can be missing: what the pings of the connection prove, or of those that
   * have not said goodbye the one that proves least; and never past a loss that was not recovered.
   */
  private provenUpTo(): Moment | undefined {
    return this.attached && this.parts.unrecovered.before(this.handover.upTo(this.attached.readUpTo));
  }

  /**
   * `began`: when the read did that makes it live. It shows what was
   * before, and what came after is on the stream.
   */
  private becomeLive(ordersRead: number, began: Moment, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.enter('live');
    const upToMs = cautiousWallMs(this.parts.unrecovered.before(began), momentOf(this.deps.clock));
    this.continuity.live(upToMs, this.parts.reader.repairs.take(ordersRead));
    const { auditMs } = this.options.timings;
    this.timers.repeat(
      () => auditMs * (5 / 6 + this.deps.random.next() / 3),
      () => this.audit(signal),
      signal,
    );
  }

  private async audit(signal: AbortSignal): Promise<void> {
    const outcome = await this.parts.audit.run(signal);
    if (signal.aborted) return;
    if (outcome.complete) {
      this.lastAuditMs = this.deps.clock.nowMs();
      return;
    }
    this.lastError = `audit: ${outcome.error.message}`;
    if (!concernsWholeAccount(outcome.error)) return;
    // The account may have left the beta, or the login the account: the platform also shows this by
    // refusing the subscription. If it does not, this is one resync.
    this.leave('denied');
    this.enter('connecting', outcome.error.message);
  }

  /** The guard of the intake. */
  private withholds(observation: Observation): boolean {
    const { storeLost } = this.parts;
    const nowMs = this.deps.clock.monotonicMs();
    if (observation.view.certainty === 'unknown_gap') this.gapShownMs = nowMs;
    if (!storeLost.reportsNewLoss(observation)) return false;
    const waitMs = storeLost.active ? 0 : storeLost.restLeftMs;
    const about = this.about({ orderId: observation.view.orderId, again: storeLost.active, waitMs });
    this.deps.log.error(about, 'the platform lost its store: account frozen');
    if (storeLost.active) {
      // The read that is under way sees it, and begins again on the same connection.
      storeLost.freeze(observation);
      return true;
    }
    storeLost.freeze(observation);
    this.leave('store_lost');
    this.enter('frozen', 'the platform lost its store');
    this.retryAtMs = nowMs + waitMs;
    // Not from within the frame that reported it: closing the connection while it delivers would
    // reorder the frames that follow.
    this.timers.later(waitMs, () => this.options.onStoreLost(this));
    return true;
  }

  private gap(upTo: Moment): void {
    this.parts.unrecovered.loseAnything(upTo);
    const nowMs = this.deps.clock.monotonicMs();
    if (this.state !== 'live' || this.attached === undefined || nowMs - this.gapAtMs < gapRestMs) return;
    this.gapAtMs = nowMs;
    this.readAgain('unknown_gap');
  }

  /** The connection stays; its rows since the last pong may be incomplete. */
  private readAgain(reason: string): void {
    const { attached } = this;
    if (attached === undefined) return;
    const { connections } = this.handover;
    this.leave(reason);
    this.attached = attached;
    this.handover.takeOver(connections);
    this.coverage = new AbortController();
    void this.resync(attached, this.coverage.signal);
  }

  private isCertain(): boolean {
    const closed = (this.parts.reader.completeSinceMs ?? this.gapShownMs) > this.gapShownMs;
    return this.state !== 'frozen' && (closed || this.gapShownMs === Number.NEGATIVE_INFINITY);
  }

  private refused(error: PlatformError): void {
    const { notEnrolledMs, refusedMs } = this.options.timings;
    const notEnrolled = this.options.stream === 'prediction' && error.status === 403;
    const waitMs = notEnrolled ? notEnrolledMs : refusedMs;
    this.retryAtMs = this.deps.clock.monotonicMs() + waitMs;
    this.leave('refused');
    this.enter(
      notEnrolled ? 'not_enrolled' : 'login_required',
      `${error.code ?? error.status ?? ''}: ${error.message}`,
    );
  }

  /**
   * Whether to subscribe the account again on the present connection: it was refused long enough
   * ago, or the connection that was to replace this one ended.
   */
  isDueForSubscribe(nowMs: number): boolean {
    return this.attached === undefined && this.attaching === 0 && nowMs >= this.retryAtMs;
  }

  private leave(reason: string): void {
    const now = momentOf(this.deps.clock);
    const upToMs = cautiousWallMs(this.provenUpTo() ?? now, now);
    this.attached = undefined;
    this.handover.clear();
    this.whenProven = () => {};
    this.coverage.abort();
    if (this.continuity.lost(upToMs, reason)) this.deps.metrics.gaps.inc({ source: this.options.stream });
  }

  private enter(state: AccountState, reason?: string): void {
    if (reason !== undefined) this.lastError = reason;
    if (state === this.state) return;
    const level = state === 'down' || state === 'login_required' ? 'warn' : 'info';
    this.deps.log[level](
      this.about({ from: this.state, to: state, ...(reason !== undefined && { reason }) }),
      'account state',
    );
    this.state = state;
    this.sinceMs = this.deps.clock.nowMs();
  }

  private about(more: object): object {
    return { stream: this.options.stream, accountId: this.accountId, ...more };
  }
}

import type { Stream } from '../../domain/order.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { absenceCauses, sourceStates } from '../../observability/source-metrics.ts';
import type { RecentEvents } from '../../runtime/recent-count.ts';
import type { Absence } from './absent-orders.ts';
import type { AccountStanding } from './account-access.ts';
import type { OutOfReach } from './out-of-reach.ts';

/**
 * - `connecting`: no connection yet, or not subscribed on it. `down`: the
 *   last attempt failed, the next one waits.
 * - `unanswered`: connected, and the subscription of this account alone is not answered; asked
 *   again after 5 s to a minute.
 * - `resyncing`: subscribed, and a complete read that began after that is under way.
 * - `live`: that read has gone through ingest.
 * - `frozen`: the platform lost its store; orders wait until the new one has been read whole.
 * - `not_enrolled`: no prediction orders on this account; asked again hourly. Not a fault.
 * - `login_required`: the credential is refused, as a whole or
 *   for this account. A person has to act.
 */
export type AccountState = (typeof sourceStates)[number];

/**
 * `orders` were read, `changes` of them were new to us, and of these the stream lost
 * `silentLosses`: known 5 s after the audit.
 */
export interface AuditFindings {
  readonly orders: number;
  readonly changes: number;
  readonly silentLosses: number;
}

/** For `/status`. Times are wall time, milliseconds since the epoch. */
export interface AccountStatus {
  readonly accountId: string;
  readonly state: AccountState;
  readonly sinceMs: number;
  readonly sourceEpoch: number;
  /**
   * Orders, and gaps, for which the stream brought something that could not be taken and has not
   * been read since: "complete up to" waits for them.
   */
  readonly unrecovered: number;
  /**
   * Orders that wait to be read once more from REST: fills may have been
   * taken back, or the order contradicts itself.
   */
  readonly inDoubt: number;
  /** Orders we hold open and that the platform does not know. */
  readonly absent: readonly Absence[];
  /** Open orders no request can name. Left out: none. */
  readonly outOfReach?: OutOfReach;
  /** Changes that the stream lost and an audit found, in the last hour. */
  readonly silentLosses: RecentEvents;
  readonly lastEventMs?: number;
  readonly lastResyncMs?: number;
  readonly lastAuditMs?: number;
  /** Of the last complete audit. */
  readonly lastAuditFound?: AuditFindings;
  readonly lastError?: string;
  /** Left out: no list has shown the account yet. */
  readonly standing?: AccountStanding;
}

/**
 * What the gauges show of an account. Asked for each second and
 * account, so it costs less than the whole status.
 */
export interface AccountReading extends Pick<AccountStatus, 'state' | 'unrecovered' | 'inDoubt' | 'absent'> {
  readonly lastResyncMs?: number | undefined;
  readonly lastAuditMs?: number | undefined;
}

/**
 * What fitness asks for twice a second: the whole status of 1,000 accounts would be the dearest
 * part of a service at rest.
 */
export interface ConnectionReading {
  readonly connected: boolean;
  /** How many accounts it follows. */
  readonly accounts: number;
}

export interface SourceStatus {
  readonly stream: Stream;
  readonly connected: boolean;
  readonly paused: boolean;
  readonly lastFrameMs?: number;
  readonly lastEventMs?: number;
  /** Why the last connection ended. */
  readonly lastEnd?: { readonly atMs: number; readonly reason: string; readonly detail: string };
  readonly accounts: readonly AccountStatus[];
}

/** The state that one source shows at the moment. Wall time in milliseconds, 0 for never. */
export interface SourceReading {
  readonly stream: Stream;
  readonly accounts: readonly AccountReading[];
  readonly lastFrameMs: number;
  readonly lastEventMs: number;
}

/**
 * A stream's gauges, over all credentials' sources: if each source set the gauge for itself, it
 * would show the last one alone.
 *
 * Invariant: each gauge is made from every present source's newest reading.
 */
export class SourceGauges {
  private readonly readings = new Map<object, SourceReading>();
  /** By stream: until when its paused time is counted. */
  private readonly pausedUntilMs = new Map<Stream, number>();
  private readonly metrics: Metrics['source'];

  constructor(metrics: Metrics['source']) {
    this.metrics = metrics;
  }

  set(source: object, reading: SourceReading): void {
    this.readings.set(source, reading);
    this.publish(reading.stream);
  }

  /**
   * A source was paused in this time (monotonic). What two sources of a stream share counts once:
   * all are paused for one queue, and the sum would say more seconds than passed.
   */
  paused(stream: Stream, fromMs: number, toMs: number): void {
    const newMs = toMs - Math.max(fromMs, this.pausedUntilMs.get(stream) ?? fromMs);
    if (newMs <= 0) return;
    this.pausedUntilMs.set(stream, toMs);
    this.metrics.pausedSeconds.inc({ source: stream }, newMs / 1000);
  }

  remove(source: object): void {
    const reading = this.readings.get(source);
    this.readings.delete(source);
    if (reading !== undefined) this.publish(reading.stream);
  }

  private publish(source: Stream): void {
    const readings = [...this.readings.values()].filter((reading) => reading.stream === source);
    const states = new Map<AccountState, number>();
    const absent = new Map<Absence['cause'], number>();
    let [unrecovered, inDoubt, oldestReadMs] = [0, 0, Number.POSITIVE_INFINITY];
    for (const { accounts } of readings)
      for (const account of accounts) {
        states.set(account.state, (states.get(account.state) ?? 0) + 1);
        for (const { cause, orders } of account.absent) absent.set(cause, (absent.get(cause) ?? 0) + orders);
        unrecovered += account.unrecovered;
        inDoubt += account.inDoubt;
        // An account that is not live is shown by its state, and has no audits that could be late.
        const { state, lastResyncMs = 0, lastAuditMs = 0 } = account;
        if (state === 'live') oldestReadMs = Math.min(oldestReadMs, Math.max(lastResyncMs, lastAuditMs));
      }
    for (const state of sourceStates) this.metrics.state.set({ source, state }, states.get(state) ?? 0);
    for (const cause of absenceCauses) this.metrics.absentOrders.set({ source, cause }, absent.get(cause) ?? 0);
    this.metrics.unrecovered.set({ source }, unrecovered);
    this.metrics.inDoubt.set({ source }, inDoubt);
    // The source that is silent longest counts, or a silent source would hide behind a busy one. A
    // source whose accounts all wait for a person, or are none, does not count.
    const heard = readings.filter(({ accounts: its }) => its.some(({ state }) => isHeard(state)));
    const frames = heard.filter(({ lastFrameMs }) => lastFrameMs > 0);
    const oldest = Math.min(...frames.map(({ lastFrameMs }) => lastFrameMs));
    // A process that has given all its accounts away would look silent for ever, and page.
    const unused = heard.length === 0;
    if (frames.length > 0 || unused) this.metrics.lastFrame.set({ source }, unused ? 0 : oldest / 1000);
    const hasRead = Number.isFinite(oldestReadMs);
    this.metrics.lastCompleteRead.set({ source }, hasRead ? oldestReadMs / 1000 : 0);
    const lastEventMs = unused ? 0 : Math.max(0, ...readings.map((reading) => reading.lastEventMs));
    if (lastEventMs > 0 || unused) this.metrics.lastEvent.set({ source }, lastEventMs / 1000);
  }
}

function isHeard(state: AccountState): boolean {
  return state !== 'login_required' && state !== 'not_enrolled';
}

/**
 * A source's counts, in plain numbers on the hot path, carried over into the metrics once a second:
 * a labelled counter and two gauges a frame would cost more than a tenth of decoding it.
 */
export class SourceMeter {
  lastFrameMs = 0;
  lastEventMs = 0;
  private readonly counts = { event: 0, control: 0, unreadable: 0 };
  private readonly stream: Stream;
  private readonly metrics: Metrics['source'];
  private readonly gauges: SourceGauges;

  constructor(stream: Stream, metrics: Metrics['source'], gauges = new SourceGauges(metrics)) {
    this.stream = stream;
    this.metrics = metrics;
    this.gauges = gauges;
  }

  frame(type: 'event' | 'control' | 'unreadable', nowMs: number): void {
    this.counts[type] += 1;
    this.lastFrameMs = nowMs;
    if (type === 'event') this.lastEventMs = nowMs;
  }

  /** A ping was answered: a venue without heartbeats sends nothing else while nothing happens. */
  ponged(pingedMs: number): void {
    this.lastFrameMs = Math.max(this.lastFrameMs, pingedMs);
  }

  paused(fromMs: number, toMs: number): void {
    this.gauges.paused(this.stream, fromMs, toMs);
  }

  flush(accounts: readonly AccountReading[]): void {
    const { stream, lastFrameMs, lastEventMs } = this;
    this.count();
    this.gauges.set(this, { stream, accounts, lastFrameMs, lastEventMs });
  }

  /** The source is gone: its counts stay, its gauges go. */
  stop(): void {
    this.count();
    this.gauges.remove(this);
  }

  private count(): void {
    for (const type of ['event', 'control', 'unreadable'] as const) {
      if (this.counts[type] > 0) this.metrics.frames.inc({ source: this.stream, type }, this.counts[type]);
      this.counts[type] = 0;
    }
  }
}

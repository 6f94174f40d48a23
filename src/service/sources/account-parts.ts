import type { Observation } from '../../domain/observation.ts';
import type { Stream } from '../../domain/order.ts';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { ByteBudget } from '../../runtime/byte-budget.ts';
import type { Clock, Moment } from '../../runtime/clock.ts';
import type { AccountRecord, AccountRegistry } from '../../store/fleet/account-registry.ts';
import type { OrderReads } from '../../venue/order-reads.ts';
import type { Venue } from '../../venue/venue.ts';
import { AbsentOrders } from './absent-orders.ts';
import { AccountReader } from './account-reader.ts';
import { Audit } from './audit.ts';
import { Doubts } from './doubts.ts';
import type { ObservationSink } from './observation-sink.ts';
import { OrderLooks } from './order-looks.ts';
import { OrdersOutOfReach } from './out-of-reach.ts';
import type { RecordedRow } from './recorded-row.ts';
import { type OnRowResult, RowIntake } from './row-intake.ts';
import { SilencePace } from './silence-pace.ts';
import { StoreLost } from './store-lost.ts';
import type { StreamTimings } from './stream-timings.ts';
import { Unrecovered } from './unrecovered.ts';
import type { Pace, Window } from './window.ts';

export interface AccountPartsDeps extends ClockAndLogger {
  /** See `RowIntake`. */
  readonly observedBy?: Pick<Clock, 'nowMs'> | undefined;
  readonly venue: Venue;
  readonly reads: OrderReads;
  readonly registry: AccountRegistry;
  readonly sink: ObservationSink;
  readonly metrics: Metrics['source'];
  /**
   * Shared by all the login's accounts, as are the next two: for reads that make accounts live, for
   * repeats of failed ones, for looks at doubted orders.
   */
  readonly gate: Window;
  readonly troubledGate: Window;
  readonly doubtPace: Pace;
  readonly auditGate: Window;
  /** Shared by all the process's accounts. */
  readonly budget: ByteBudget;
  /** See `RowIntake`. */
  readonly record?: ((row: RecordedRow) => void) | undefined;
}

interface AccountPartsOptions {
  readonly stream: Stream;
  readonly timings: StreamTimings;
  /** The life of the account's session. */
  readonly signal: AbortSignal;
  readonly isLive: () => boolean;
  /** The account is live, and a row reports a gap: it has to be read whole once more. */
  readonly onGap: () => void;
  /** A row reports a loss that is not being handled. The account rests for `waitMs`. */
  readonly onStoreLost: (waitMs: number) => void;
}

/** An event tells for so long what the platform's clock shows. */
const tellsTimeMs = 600_000;
/** Gaps reported by the platform make us read again at most this often. */
const gapRestMs = 30_000;

/**
 * The parts for one account's orders on one stream, joined: one way into ingest, one list reader,
 * looks at single orders, and the parts asking for them. A stream row goes through them here, also
 * for its news about the stream: an unreadable row, a gap, a lost store.
 */
export class AccountParts {
  readonly intake: RowIntake;
  readonly looks: OrderLooks;
  readonly unrecovered: Unrecovered;
  readonly absent: AbsentOrders;
  readonly outOfReach: OrdersOutOfReach;
  readonly doubts: Doubts;
  readonly reader: AccountReader;
  readonly audit: Audit;
  readonly storeLost: StoreLost;
  /** Wall time of the stream's newest row. */
  lastEventMs: number | undefined;
  /** The newest order on the stream: its `updatedAt`, and when it came, monotonic. */
  private newestAt: string | undefined;
  private newestMs = Number.NEGATIVE_INFINITY;
  /** Monotonic: the newest row to report a gap, and the last read for one. */
  private gapShownMs = Number.NEGATIVE_INFINITY;
  private gapReadMs = Number.NEGATIVE_INFINITY;
  private readonly deps: Pick<AccountPartsDeps, 'clock' | 'log'>;
  private readonly options: AccountPartsOptions;
  private readonly about: { readonly stream: Stream; readonly accountId: string };

  constructor(deps: AccountPartsDeps, options: AccountPartsOptions, record: AccountRecord) {
    const { stream, timings, signal } = options;
    const { accountId, sourceEpoch } = record;
    const about = { stream, accountId };
    this.deps = deps;
    this.options = options;
    this.about = about;
    const outOfReach = new OrdersOutOfReach(deps, { ...about, signal });
    const intake = new RowIntake(
      {
        ...deps,
        guard: (observation) => this.withholds(observation),
        onOddId: ({ orderId, status }) => outOfReach.note(orderId, status),
        onDoubt: (observation, doubt, revision) =>
          doubt === 'dead_lettered' ? this.deadLetter(observation) : this.doubts.raise(observation, doubt, revision),
        onOrder: (orderId) => this.absent.seen(orderId),
      },
      { ...about, sourceEpoch },
    );
    const looks = new OrderLooks({ ...deps, intake, outOfReach }, { ...about, signal });
    const unrecovered = new Unrecovered({ ...deps, looks }, { signal });
    const absent = new AbsentOrders({ ...deps, intake }, { ...about, signal });
    const doubts = new Doubts({ ...deps, intake, looks }, { signal, about });
    const silencePace = new SilencePace(deps, timings);
    const onAudited: OnRowResult = (...row) => this.audit.judge(...row);
    const reader = new AccountReader(
      { ...deps, intake, looks, unrecovered, absent, silencePace, doubts, newestEventAt: () => this.newestEventAt },
      { stream, timings, onAudited },
      record,
    );
    this.intake = intake;
    this.looks = looks;
    this.unrecovered = unrecovered;
    this.absent = absent;
    this.outOfReach = outOfReach;
    this.doubts = doubts;
    this.reader = reader;
    this.audit = new Audit({ ...deps, reader, silencePace }, { about, source: stream, signal });
    this.storeLost = new StoreLost({ ...deps, reader, intake }, { signal });
  }

  /** `upTo`: what its connection had sent before then was read. */
  takeRow(row: unknown, text: string, receivedMs: number, upTo: Moment): void {
    this.lastEventMs = this.deps.clock.nowMs();
    const item = this.intake.takeRow(row, { cause: 'stream', receivedMs, bytes: text.length, raw: () => text, upTo });
    if (item.kind === 'order') {
      this.newestAt = item.view.updatedAt;
      this.newestMs = receivedMs;
      this.audit.losses.delivered(item);
      if (item.view.certainty === 'unknown_gap') this.gap(upTo);
    } else if (item.kind === 'withheld') {
      this.storeLost.hold({ row, text, receivedMs, upTo });
    } else if (item.kind === 'unreadable' && item.orderId !== undefined) {
      this.unrecovered.loseOrder(item.orderId, upTo);
    } else if (item.kind === 'unreadable') {
      this.unrecovered.loseAnything(upTo);
    }
  }

  /** It was read, and is a dead letter all the same: the log lacks it. */
  private deadLetter({ view: { orderId }, upTo }: Observation): void {
    if (upTo === undefined) this.unrecovered.unread(orderId);
    else this.unrecovered.loseOrder(orderId, upTo);
  }

  /** No gap was reported, or a complete read has closed it since. */
  get isCertain(): boolean {
    const readMs = this.reader.completeSinceMs ?? this.gapShownMs;
    return readMs > this.gapShownMs || this.gapShownMs === Number.NEGATIVE_INFINITY;
  }

  private get newestEventAt(): string | undefined {
    return this.deps.clock.monotonicMs() - this.newestMs <= tellsTimeMs ? this.newestAt : undefined;
  }

  /** Gets every order before its version is used. True: the order is not offered. */
  private withholds(observation: Observation): boolean {
    const { clock, log } = this.deps;
    const { storeLost } = this;
    const { orderId, certainty } = observation.view;
    if (certainty === 'unknown_gap') this.gapShownMs = clock.monotonicMs();
    if (!storeLost.reportsNewLoss(observation)) return false;
    // The read that is under way sees it, and begins again on the same connection.
    const isKnown = storeLost.active;
    const waitMs = isKnown ? 0 : storeLost.restLeftMs;
    log.error({ ...this.about, orderId, again: isKnown, waitMs }, 'the platform lost its store: account frozen');
    storeLost.freeze(observation);
    if (!isKnown) this.options.onStoreLost(waitMs);
    return true;
  }

  private gap(upTo: Moment): void {
    this.unrecovered.loseAnything(upTo);
    const nowMs = this.deps.clock.monotonicMs();
    if (!this.options.isLive() || nowMs - this.gapReadMs < gapRestMs) return;
    this.gapReadMs = nowMs;
    this.options.onGap();
  }
}

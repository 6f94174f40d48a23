import type { Observation } from '../../domain/observation.ts';
import type { Log } from '../../observability/log.ts';
import type { Clock, Moment } from '../../runtime/clock.ts';
import type { AccountParts } from './account-parts.ts';

interface SessionRowsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly parts: Pick<AccountParts, 'intake' | 'audit' | 'reader' | 'storeLost' | 'unrecovered'>;
}

interface SessionRowsOptions {
  readonly about: { readonly stream: string; readonly accountId: string };
  readonly isLive: () => boolean;
  /** The account is live, and a row reports a gap: it has to be read whole once more. */
  readonly onGap: () => void;
  /** A row reports a loss that is not being handled. The account rests for `waitMs`. */
  readonly onStoreLost: (waitMs: number) => void;
}

/** Gaps reported by the platform make us read again at most this often. */
const gapRestMs = 30_000;

/**
 * The rows of one account's stream on their way into ingest, and what they say of the stream
 * itself: a frame that can't be read, a gap, a lost store.
 */
export class SessionRows {
  /** Monotonic time of the newest row that reported a gap, and of the last read for one. */
  private gapShownMs = Number.NEGATIVE_INFINITY;
  private gapReadMs = Number.NEGATIVE_INFINITY;
  private readonly deps: SessionRowsDeps;
  private readonly options: SessionRowsOptions;

  constructor(deps: SessionRowsDeps, options: SessionRowsOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** `upTo`: what its connection had sent before then was read. */
  take(row: unknown, text: string, receivedMs: number, upTo: Moment): void {
    const { intake, audit, storeLost, unrecovered } = this.deps.parts;
    const item = intake.takeRow(row, { cause: 'stream', receivedMs, bytes: text.length, raw: () => text });
    if (item.kind === 'order') {
      audit.delivered(item);
      if (item.view.certainty === 'unknown_gap') this.gap(upTo);
    } else if (item.kind === 'withheld') {
      storeLost.hold({ row, text, receivedMs, upTo });
    } else if (item.kind === 'unreadable' && item.orderId !== undefined) {
      unrecovered.loseOrder(item.orderId, upTo);
    } else if (item.kind === 'unreadable') {
      unrecovered.loseAnything(upTo);
    }
  }

  /** The guard of the intake: true withholds the order. */
  withholds(observation: Observation): boolean {
    const { clock, log, parts } = this.deps;
    const { storeLost } = parts;
    const { orderId, certainty } = observation.view;
    if (certainty === 'unknown_gap') this.gapShownMs = clock.monotonicMs();
    if (!storeLost.reportsNewLoss(observation)) return false;
    // The read that is under way sees it, and begins again on the same connection.
    const isKnown = storeLost.active;
    const waitMs = isKnown ? 0 : storeLost.restLeftMs;
    log.error(
      { ...this.options.about, orderId, again: isKnown, waitMs },
      'the platform lost its store: account frozen',
    );
    storeLost.freeze(observation);
    if (!isKnown) this.options.onStoreLost(waitMs);
    return true;
  }

  /** No gap was reported, or a complete read has closed it since. */
  get isCertain(): boolean {
    const readMs = this.deps.parts.reader.completeSinceMs ?? this.gapShownMs;
    return readMs > this.gapShownMs || this.gapShownMs === Number.NEGATIVE_INFINITY;
  }

  private gap(upTo: Moment): void {
    this.deps.parts.unrecovered.loseAnything(upTo);
    const nowMs = this.deps.clock.monotonicMs();
    if (!this.options.isLive() || nowMs - this.gapReadMs < gapRestMs) return;
    this.gapReadMs = nowMs;
    this.options.onGap();
  }
}

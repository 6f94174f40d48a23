import { formatInstant, msOf } from '../../domain/instant.ts';
import type { Stream } from '../../domain/order.ts';
import type { Logger } from '../../observability/logger.ts';
import { dropOldest } from '../../runtime/drop-oldest.ts';
import type { OrderReads } from '../../venue/order-reads.ts';
import type { PlatformError } from '../../venue/platform-error.ts';
import type { ReadProgress } from './read-progress.ts';

interface TouchedReadsDeps {
  readonly reads: Pick<OrderReads, 'touchedOrders'>;
  readonly log: Logger;
}

interface TouchedReadsOptions {
  readonly stream: Stream;
  readonly accountId: string;
  /** A read begins so long before the end of the one before. */
  readonly overlapMs: number;
}

/** Where the next read begins: with touched orders left for it, and without. */
interface NextRead {
  readonly withRest: string;
  readonly withoutRest: string;
}

/** Without room an order is asked for once more. */
const mostNotShown = 10_000;

/**
 * The orders that were touched since the last audit, by the venue's own word.
 *
 * Invariant: the next read begins behind a moment only if each order touched until then was shown,
 * or asked for. An audit asks for a few orders unknown here. If more are left, the next one begins
 * at the same moment, and asks for the others.
 */
export class TouchedReads {
  /**
   * From here on the venue has to name the touched orders. Newer than the mark, since an account
   * without new orders does not move it, or older: it did not name them then.
   */
  private from: string | undefined;
  /** By order, if it was asked for and not shown: when it was touched. */
  private readonly notShown = new Map<string, string>();
  /** It was logged that the venue names none. */
  private hasNone = false;
  private readonly deps: TouchedReadsDeps;
  private readonly options: TouchedReadsOptions;

  constructor(deps: TouchedReadsDeps, options: TouchedReadsOptions) {
    this.deps = deps;
    this.options = options;
  }

  /**
   * Behind the lists: all that happened until their end is shown now. Fills `progress.touched`.
   * `listedFrom`: where the newer one begins. Undefined: there is no such read, or no time for it.
   */
  async read(
    progress: ReadProgress,
    listedFrom: string | undefined,
  ): Promise<NextRead | { readonly error: PlatformError } | undefined> {
    const { reads, log } = this.deps;
    const { stream, accountId, overlapMs } = this.options;
    const after = this.from ?? listedFrom;
    if (after === undefined) return undefined;
    const result = await reads.touchedOrders?.({ stream, accountId, after }, progress.signal, progress.budget);
    if (result === undefined || result.kind === 'failed') return result;
    if (result.kind === 'read') {
      for (const order of result.orders)
        if (this.notShown.get(order.orderId) !== order.at) progress.touched.set(order.orderId, order);
      const upToMs = Math.min(msOf(result.upTo), progress.startedMs);
      return { withRest: after, withoutRest: formatInstant(upToMs - overlapMs) };
    }
    if (!this.hasNone)
      log.warn(
        { stream, accountId },
        'the venue shows this key no activities: a change of an ended order is seen by its event alone',
      );
    this.hasNone = true;
    return { withRest: after, withoutRest: after };
  }

  /** The venue was asked for it, and has not shown it. */
  noteNotShown(orderId: string, { touched }: ReadProgress): void {
    const order = touched.get(orderId);
    if (order === undefined) return;
    touched.delete(orderId);
    this.notShown.set(orderId, order.at);
    dropOldest(this.notShown, mostNotShown);
  }

  /** The read is remembered. `isLeft`: some of its orders are left for the next one. */
  readComplete({ withRest, withoutRest }: NextRead, isLeft: boolean): void {
    this.from = isLeft ? withRest : withoutRest;
    if (!isLeft) this.notShown.clear();
  }
}

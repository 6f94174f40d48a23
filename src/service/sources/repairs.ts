import type { Observation, ObservationResult } from '../../domain/observation.ts';

/** Kept apart by id; after an outage with more, an order repaired twice counts twice. */
const maxKept = 10_000;
/** A record names no more: its size stays far below Kafka's limit. */
const maxNamed = 100;

/** What was read for one account after a gap, for its mark `resynchronised`. */
export interface Extent {
  /** Rows in the last complete read. */
  readonly ordersRead: number;
  readonly ordersRepaired: number;
  /** The first of them. */
  readonly repairedOrderIds: readonly string[];
}

/**
 * The orders changed by reads since the account was last live. Failed reads count too, since the
 * next read shows their orders as known.
 */
export class Repairs {
  private readonly ids = new Set<string>();
  private uncounted = 0;

  readonly note = ({ view }: Observation, result: ObservationResult): void => {
    if (result !== 'applied') return;
    if (this.ids.size < maxKept) this.ids.add(view.orderId);
    else if (!this.ids.has(view.orderId)) this.uncounted += 1;
  };

  /** Ends the count. */
  take(ordersRead: number): Extent {
    const ordersRepaired = this.ids.size + this.uncounted;
    const repairedOrderIds = [...this.ids].slice(0, maxNamed);
    this.ids.clear();
    this.uncounted = 0;
    return { ordersRead, ordersRepaired, repairedOrderIds };
  }
}

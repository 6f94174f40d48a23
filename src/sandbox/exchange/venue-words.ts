import type { ExchangeOrder } from './exchange-order.ts';

/**
 * How one venue writes its orders down. The specification's platform has its words, Alpaca others;
 * exchange, faults, ledger and control port are the same behind both.
 */
export interface VenueWords {
  /** The order as JSON in lists, single reads and on the control port. */
  row(order: ExchangeOrder): string;
  /** The order as JSON in events, and in the ledger's changes. */
  data(order: ExchangeOrder): string;
  /** The frame around `data`. `step` names the change; `shown` is none. */
  event(order: ExchangeOrder, data: string, step: string): string;
}

import type { ExchangeOrder } from './exchange-order.ts';

/**
 * How one venue writes its orders down. The specification's platform has its words, Alpaca others;
 * exchange, faults, ledger and control port are the same behind both.
 */
export interface VenueWords {
  /** JSON of the order in lists and single reads, and on the control port. */
  row(order: ExchangeOrder): string;
  /** JSON of the order in an event, and in the ledger's changes. */
  data(order: ExchangeOrder): string;
  /** The frame around `data` for the change that `step` names; `shown` where nothing changed. */
  event(order: ExchangeOrder, data: string, step: string): string;
}

import { ChangeList } from './change-list.ts';
import type { Stream } from './exchange-order.ts';

export interface AccountOptions {
  readonly id: string;
  /** The user who owns it. */
  readonly owner: string;
  /** Enrolled in the closed beta of prediction orders. */
  readonly predictions: boolean;
  /** The market makes orders here. False for accounts that exist only to be somebody else's. */
  readonly traded: boolean;
}

/** One trading account: its orders in the order of their last change, and the texts that every event of it repeats. */
export class ExchangeAccount {
  readonly id: string;
  readonly owner: string;
  readonly traded: boolean;
  predictions: boolean;
  status = 'OPEN';
  readonly lists: Readonly<Record<Stream, ChangeList>> = { account: new ChangeList(), prediction: new ChangeList() };

  constructor(options: AccountOptions) {
    this.id = options.id;
    this.owner = options.owner;
    this.predictions = options.predictions;
    this.traded = options.traded;
  }
}

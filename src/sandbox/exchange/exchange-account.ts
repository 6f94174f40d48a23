/** One trading account. Its orders are with the `Exchange`. */
export interface ExchangeAccount {
  readonly id: string;
  /** The user who owns it. */
  readonly owner: string;
  /** The market makes orders here. False for accounts that exist only as another user's. */
  readonly traded: boolean;
  /** Enrolled in the closed beta of prediction orders. */
  predictions: boolean;
  /** As the accounts list shows it: `OPEN`, or another word once it is closed. */
  status: string;
}

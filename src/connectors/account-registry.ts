import type { Stream } from '../domain/order.ts';

/** What must survive a restart about one account on one stream. */
export interface AccountRecord {
  readonly stream: Stream;
  readonly accountId: string;
  readonly isSim: boolean;
  /** Rises when the platform lost its store. */
  readonly sourceEpoch: number;
  /** The highest updatedAt that the last complete read showed (never the stream). Undefined before the first. ISO 8601. */
  readonly readUpTo: string | undefined;
}

/** An order that we hold open, for the reader to ask after. */
export interface OpenOrder {
  readonly orderId: string;
  readonly status: string;
  readonly sourceVersion: bigint | undefined;
  readonly updatedAt: string;
  /** Absent: 0. */
  readonly sourceEpoch?: number;
}

/** The accounts that we follow, durable. Every call has a deadline; rejects when the database can't be reached. */
export interface AccountRegistry {
  load(): Promise<AccountRecord[]>;
  save(record: AccountRecord): Promise<void>;
  /** Orders of the account that are not terminal and were last written before `touchedBeforeMs` (database clock, ms since the epoch). Paged by order id, at most `limit`. */
  openOrders(
    stream: Stream,
    accountId: string,
    touchedBeforeMs: number,
    afterOrderId: string,
    limit: number,
  ): Promise<OpenOrder[]>;
}

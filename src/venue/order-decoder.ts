import type { OrderView } from '../domain/order.ts';
import type { RowReader } from './row-reader.ts';

/** A decoded row, without its source. `sourceVersion` only where the row had one. */
export interface DecodedOrder {
  readonly view: OrderView;
  readonly sourceVersion?: bigint;
}

/** How a venue's rows of one stream are read. */
export interface OrderDecoder {
  /** The fields of a row with its order's id and status, and with its account, if rows name one. */
  readonly names: { readonly orderId: string; readonly status: string; readonly accountId?: string };
  /** `accountId`: whose stream or list brought the row. `isEvent`: a stream did. */
  readonly decode: (row: RowReader, origin: { readonly accountId: string; readonly isEvent: boolean }) => DecodedOrder;
}

import { type OrderStatus, type OrderView, orderWord } from '../domain/order.ts';
import type { RowReader } from './row-reader.ts';

/** A decoded row, without its source. `sourceVersion` only where the row had one. */
export interface DecodedOrder {
  readonly view: OrderView;
  readonly sourceVersion?: bigint;
}

/** How a venue's rows of one stream are read. */
export interface OrderDecoder {
  /** The fields that say which order a row is about, and its status. */
  readonly names: { readonly orderId: string; readonly status: string };
  /** `accountId`: whose stream or list brought the row. `isEvent`: a stream did. */
  readonly decode: (row: RowReader, origin: { readonly accountId: string; readonly isEvent: boolean }) => DecodedOrder;
}

/**
 * A price that an order may have none of: some platforms write that as zero. Only a package of legs
 * may have the limit zero.
 */
export function nonZero(row: RowReader, field: string): string | undefined {
  const price = row.optionalDecimal(field);
  return price === '0' ? undefined : price;
}

/**
 * A field's word for how an order works, not for what became of it: `unknown` if it is left out.
 */
export function wordOf(row: RowReader, field: string): string {
  return orderWord(row.carriedText(field) ?? 'unknown');
}

export function knownStatus(word: string, statuses: ReadonlySet<string>): OrderStatus {
  return statuses.has(word) ? (word as OrderStatus) : 'unknown';
}

import type { OrderView } from '../domain/order.ts';

/** A decoded row, before it is known where it came from. `sourceVersion` only where the row had one. */
export interface DecodedOrder {
  readonly view: OrderView;
  readonly sourceVersion?: bigint;
}

/** A view while its optional fields are filled in. */
export type ViewUnderWay = { -readonly [K in keyof OrderView]: OrderView[K] };

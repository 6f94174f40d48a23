import type { Stream } from '../domain/order.ts';
import type { OrderDecoder } from './order-decoder.ts';
import type { StreamProtocol } from './stream-protocol.ts';

/** The particulars of a venue whose orders are followed. Pure: tables and functions. */
export type Venue = {
  readonly [stream in Stream]: { readonly orders: OrderDecoder; readonly protocol: StreamProtocol };
};

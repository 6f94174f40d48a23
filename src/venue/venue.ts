import type { Stream } from '../domain/order.ts';
import type { OrderDecoder } from './order-decoder.ts';
import type { StreamProtocol } from './stream-protocol.ts';

/** One of its streams. */
export interface VenueStream {
  readonly orders: OrderDecoder;
  readonly protocol: StreamProtocol;
}

/** The particulars of a venue whose orders are followed, by stream. Pure: tables and functions. */
export type Venue = { readonly [stream in Stream]?: VenueStream };

/** @throws Error for a stream of another venue. */
export function streamOf(venue: Venue, stream: Stream): VenueStream {
  const found = venue[stream];
  if (found === undefined) throw new Error(`the venue has no stream ${stream}`);
  return found;
}

import type { OrderView, Stream } from '../domain/order.ts';
import type { Secret } from '../runtime/secret.ts';
import type { Dialect } from './read-venue.ts';
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

/** The kinds of messages on a venue's order stream. */
export type Frame =
  /** `accountId`: left out where the session has one account, and no frame names it. */
  | { readonly kind: 'event'; readonly stream: Stream; readonly accountId?: string; readonly row: unknown }
  | { readonly kind: 'signed_in' }
  /** `id`: left out where the venue answers all that was asked. */
  | { readonly kind: 'subscribed' | 'unsubscribed'; readonly id?: string }
  /** `id` is absent where the venue could not read the request it answers. */
  | { readonly kind: 'error'; readonly id?: string; readonly code: string; readonly message: string }
  /** In place of a close code. */
  | { readonly kind: 'ended'; readonly reason: CloseReason; readonly message: string }
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'unreadable'; readonly reason: string; readonly detail: string; readonly stream?: Stream };

/** A close code of the venue's own asks for a new token, a person, or another try. */
export type CloseReason = 'unauthorized' | 'forbidden' | 'slow_consumer' | 'restarting';

/** How one stream of a venue is spoken. */
export interface StreamProtocol {
  /**
   * The first message, if the session signs in by it: `signed_in` or `ended` answers. `atMs`: wall
   * time, for a signature.
   */
  hello?(credential: Secret, atMs: number): string;
  /**
   * The headers of the upgrade, if the session signs in by them. Left out, and `hello` too: the
   * credential is a bearer token.
   */
  upgrade?: Dialect['sign'];
  /** Never throws. An event's row is left to the stream's `OrderDecoder`. */
  read(text: string): Frame;
  /** `id`: repeated by the answer. */
  subscribe(id: string, accountId: string): string;
  unsubscribe(id: string, accountId: string): string;
  /** Left out: it documents no close codes of its own. */
  readonly closeReasons?: ReadonlyMap<number, CloseReason>;
}

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

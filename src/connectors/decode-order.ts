import type { Cause, Observation, Unreadable } from '../domain/observation.ts';
import type { Stream } from '../domain/order.ts';
import { storableText } from '../platform/parse-json.ts';
import { decodeAccountOrder } from './decode-account-order.ts';
import { decodePredictionOrder } from './decode-prediction-order.ts';
import type { DecodedOrder } from './decoded-order.ts';
import { type Fault, RowReader } from './row-reader.ts';

/** Where a row came from, beside its content. */
export interface RowOrigin {
  readonly stream: Stream;
  readonly cause: Cause;
  /** The account whose stream or list brought it. */
  readonly accountId: string;
  readonly sourceEpoch: number;
  readonly observedAtMs: number;
  readonly receivedMs: number;
  readonly bytes: number;
  readonly correction?: true;
  readonly urgent?: true;
  readonly onDoubt?: Observation['onDoubt'] | undefined;
}

/** The row is of another account than the one whose stream or list brought it: dropped and alarmed, never stored. */
export interface ForeignRow {
  readonly kind: 'foreign';
  readonly accountId: string;
}

/**
 * A row of the platform, from a stream event or a REST answer alike → what ingest takes. Never throws. `raw` is asked for only when the row cannot
 * be read.
 */
export function decodeOrder(row: unknown, origin: RowOrigin, raw: () => string): Observation | Unreadable | ForeignRow {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    return unreadable(origin, { reason: 'not_an_object', detail: 'expected an order object' }, raw, undefined);
  }
  const fields = row as Readonly<Record<string, unknown>>;
  const namedAccount = fields['accountId'];
  if (typeof namedAccount === 'string' && namedAccount !== '' && namedAccount !== origin.accountId) {
    return { kind: 'foreign', accountId: namedAccount };
  }
  const reader = new RowReader(fields);
  const decoded =
    origin.stream === 'account'
      ? decodeAccountOrder(reader, origin.accountId)
      : decodePredictionOrder(reader, fields['version'], origin.cause === 'stream');
  if (reader.fault !== undefined) return unreadable(origin, reader.fault, raw, nameOf(origin.stream, fields));
  return observation(decoded, origin);
}

function observation(decoded: DecodedOrder, origin: RowOrigin): Observation {
  return {
    kind: 'order',
    cause: origin.cause,
    view: decoded.view,
    ...(decoded.sourceVersion !== undefined && { sourceVersion: decoded.sourceVersion }),
    sourceEpoch: origin.sourceEpoch,
    ...(origin.correction && { correction: origin.correction }),
    ...(origin.urgent && { urgent: origin.urgent }),
    ...(origin.onDoubt && { onDoubt: origin.onDoubt }),
    observedAtMs: origin.observedAtMs,
    receivedMs: origin.receivedMs,
    bytes: origin.bytes,
  };
}

function unreadable(origin: RowOrigin, fault: Fault, raw: () => string, orderId: string | undefined): Unreadable {
  return {
    kind: 'unreadable',
    cause: origin.cause,
    stream: origin.stream,
    reason: fault.reason,
    detail: fault.detail,
    raw: cutRaw(textOf(raw)),
    accountId: origin.accountId,
    ...(orderId !== undefined && { orderId }),
    observedAtMs: origin.observedAtMs,
    bytes: origin.bytes,
  };
}

/** A row nested deep enough overflows the stack when it is written out again. */
function textOf(raw: () => string): string {
  try {
    return raw();
  } catch (error) {
    return `(cannot be shown: ${error instanceof Error ? error.message : 'unknown'})`;
  }
}

/** The order that a row names, when that much of it can be read. */
function nameOf(stream: Stream, fields: Readonly<Record<string, unknown>>): string | undefined {
  const reader = new RowReader(fields);
  const orderId = reader.id(stream === 'account' ? 'ordId' : 'orderId');
  return reader.fault === undefined ? orderId : undefined;
}

/** What is kept of something that cannot be read: 64 KiB, and nothing that Postgres refuses. */
export function cutRaw(text: string): string {
  return storableText(text.length > 65_536 ? text.slice(0, 65_536) : text);
}

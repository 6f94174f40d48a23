import type { BatchProof } from './committed-batch.ts';
import type { Fill, Head } from './head.ts';
import { formatIfKnown, formatInstant } from './instant.ts';
import type { Cause, Watermark } from './observation.ts';
import type { Order } from './order.ts';
import type { ResolvingUpdate } from './resolving.ts';

export const updateSchema = 'tidemark.order-update.v1';

export interface UpdateParts {
  readonly head: Head;
  /** `encodeOrder(head.order)`, made once and also stored as the order's state. */
  readonly orderJson: string;
  /** Rises only after a loss of commits: consumers keep the highest (generation, revision). */
  readonly generation: number;
  /** It is committed with this batch. Left out if the log's row is gone. */
  readonly batch?: { readonly lane: number; readonly number: bigint };
  readonly cause: Cause | 'correction';
  /** ISO 8601: the time of the change by the platform's word. */
  readonly occurredAt: string;
  /** ISO 8601: its arrival here. */
  readonly observedAt: string;
  readonly changed: readonly string[];
  readonly fill?: Fill;
}

/**
 * One accepted change's payload: the exact text in the log row and in the Kafka record
 * (docs/consuming.md). Versions are strings, as int64 is on every wire.
 */
export function encodeUpdate(parts: UpdateParts): string {
  const { head, orderJson, generation, batch, cause, changed, fill } = parts;
  const { order, revision, sourceVersion } = head;
  const orderId = JSON.stringify(order.orderId);
  // The id's JSON without its quotes continues the text before it.
  let text = `{"eventId":"${order.stream}:${orderId.slice(1, -1)}:${revision}","schema":"${updateSchema}","generation":${generation}`;
  text += `,"stream":"${order.stream}","orderId":${orderId},"accountId":${JSON.stringify(order.accountId)},"revision":${revision}`;
  if (sourceVersion !== undefined) text += `,"sourceVersion":"${sourceVersion}"`;
  if (order.sourceEpoch !== undefined) text += `,"sourceEpoch":${order.sourceEpoch}`;
  if (batch !== undefined) text += `,"lane":${batch.lane},"batch":"${batch.number}"`;
  text += `,"cause":"${cause}","occurredAt":${JSON.stringify(parts.occurredAt)},"observedAt":${JSON.stringify(parts.observedAt)}`;
  text += `,"changed":${changed.length === 0 ? '[]' : `["${changed.join('","')}"]`}`;
  if (fill !== undefined) text += `,"fill":${JSON.stringify(fill)}`;
  return `${text},"order":${orderJson}}`;
}

/**
 * The order in a payload: its last field, cut out. Inside a string no quote is bare, and no other
 * field has this name, so the first `"order":` is that field's beginning.
 */
export function orderJsonOf(payload: string): string {
  return payload.slice(payload.indexOf('"order":') + '"order":'.length, -1);
}

/**
 * The normalised order as JSON, which is `order` in the payload. Equal orders give equal text.
 */
export function encodeOrder(order: Order): string {
  return JSON.stringify(order);
}

/**
 * The part of the join the order doesn't show, as JSON, stored with it. `decodeHead` reads both
 * back.
 */
export function encodeHeadJoin(head: Head): string {
  return JSON.stringify(head.join);
}

/** The record from `encode-update.ts`, as far as verdicts need it. */
interface Payload {
  readonly revision: number;
  readonly sourceVersion?: string;
  readonly sourceEpoch?: number;
  readonly cause: string;
  readonly observedAt: string;
  readonly order: Order;
}

/**
 * One accepted change's payload, for verdicts: from a batch handed over, or read back from the log.
 * Throws on text ingest did not write.
 */
export function decodeUpdate(payload: string): ResolvingUpdate {
  const { revision, sourceVersion, sourceEpoch, cause, observedAt, order } = JSON.parse(payload) as Payload;
  return {
    revision,
    sourceEpoch: sourceEpoch ?? order.sourceEpoch ?? 0,
    ...(sourceVersion !== undefined && { sourceVersion: BigInt(sourceVersion) }),
    cause,
    observedAtMs: Date.parse(observedAt),
    order,
  };
}

export const watermarkSchema = 'tidemark.watermarks.v1';

/**
 * A watermark's payload: the exact text in its log row and in the Kafka record. Instants are
 * ISO 8601; `from` and `to` bound the time of possible loss.
 */
export function encodeWatermark(mark: Watermark, proof?: BatchProof): string {
  return JSON.stringify({
    eventId: mark.markId,
    schema: watermarkSchema,
    stream: mark.stream,
    accountIds: mark.accountIds,
    event: mark.event,
    at: formatInstant(mark.atMs),
    from: formatIfKnown(mark.fromMs),
    to: formatIfKnown(mark.toMs),
    reason: mark.reason,
    ordersRead: mark.ordersRead,
    ordersRepaired: mark.ordersRepaired,
    repairedOrderIds: mark.repairedOrderIds,
    unreadOrderIds: mark.unreadOrderIds,
    proof: proof && { ...proof, after: proof.after.toString(), upTo: proof.upTo.toString() },
  });
}

/**
 * The record's key, and the log row's account. A heartbeat has its stream there, since it is about
 * many accounts.
 */
export function watermarkKey({ event, stream, accountIds }: Watermark): string {
  return event === 'heartbeat' ? stream : accountIds[0];
}

import type { Fill, Head } from './head.ts';
import type { Cause } from './observation.ts';
import type { Order } from './order.ts';

export const updateSchema = 'tidemark.order-update.v1';

export interface UpdateParts {
  readonly head: Head;
  /** `encodeOrder(head.order)`, made once and stored as the order's state as well. */
  readonly orderJson: string;
  /** Rises only after a restore from backup: consumers keep the highest (generation, revision). */
  readonly generation: number;
  readonly cause: Cause | 'correction';
  /** ISO 8601: when the platform says that it happened. */
  readonly occurredAt: string;
  /** ISO 8601: when it reached us. */
  readonly observedAt: string;
  readonly changed: readonly string[];
  readonly fill?: Fill;
}

/** The payload of one accepted change: the exact text of the log row and of the Kafka record (docs/consuming.md). Versions are strings, as int64 is on every wire. */
export function encodeUpdate(parts: UpdateParts): string {
  const { head, orderJson, generation, cause, changed, fill } = parts;
  const { order, revision, sourceVersion } = head;
  const orderId = JSON.stringify(order.orderId);
  // The id's JSON without its quotes continues the text before it.
  let text = `{"eventId":"${order.stream}:${orderId.slice(1, -1)}:${revision}","schema":"${updateSchema}","generation":${generation}`;
  text += `,"stream":"${order.stream}","orderId":${orderId},"accountId":${JSON.stringify(order.accountId)},"revision":${revision}`;
  if (sourceVersion !== undefined) text += `,"sourceVersion":"${sourceVersion}"`;
  if (order.sourceEpoch !== undefined) text += `,"sourceEpoch":${order.sourceEpoch}`;
  text += `,"cause":"${cause}","occurredAt":${JSON.stringify(parts.occurredAt)},"observedAt":${JSON.stringify(parts.observedAt)}`;
  text += `,"changed":${changed.length === 0 ? '[]' : `["${changed.join('","')}"]`}`;
  if (fill !== undefined) text += `,"fill":${JSON.stringify(fill)}`;
  return `${text},"order":${orderJson}}`;
}

/** The JSON of the normalised order: `state` in Postgres, `order` on Kafka. Equal orders give equal text. */
export function encodeOrder(order: Order): string {
  return JSON.stringify(order);
}

/** The JSON of what the order doesn't show, stored beside it. `decodeHead` reads both back. */
export function encodeHeadJoin(head: Head): string {
  return JSON.stringify(head.join);
}

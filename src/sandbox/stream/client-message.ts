import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import {
  accountOfTarget,
  accountTarget,
  eventNames,
  type StreamTopic,
  streamTopics,
} from '../../venue/platform/wire/stream-messages.ts';
import { isObject } from '../entry/request-members.ts';
import { encodeAccountOrder, encodePredictionOrder, encodeRow } from '../exchange/encode-row.ts';
import type { ExchangeOrder } from '../exchange/exchange-order.ts';
import type { VenueWords } from '../exchange/venue-words.ts';
import { instantText, jsonText } from '../exchange/wire-text.ts';

/** A client's wish, or why it cannot be understood. `id` is its own, when it could be read. */
export type ClientMessage =
  | {
      readonly type: 'subscribe' | 'unsubscribe';
      readonly id: string;
      readonly topic: StreamTopic;
      readonly accountId: string;
    }
  | { readonly type: 'bad'; readonly id?: string; readonly message: string };

/** Reads one client message (docs/platform-assumptions.md, "Order stream"). */
export function readClientMessage(data: Buffer, isBinary: boolean): ClientMessage {
  if (isBinary) return { type: 'bad', message: 'Messages are text' };
  const parsed = jsonOrUndefined(data.toString('utf8'));
  if (parsed === undefined) return { type: 'bad', message: 'Messages are JSON' };
  if (!isObject(parsed)) return { type: 'bad', message: 'Messages are objects' };
  const id = parsed['id'];
  if (typeof id !== 'string' || id.length > 200)
    return { type: 'bad', message: 'id must be a string of at most 200 characters' };
  const { type, payload } = parsed;
  if (type !== 'subscribe' && type !== 'unsubscribe')
    return { type: 'bad', id, message: 'type must be subscribe or unsubscribe' };
  if (!isObject(payload)) return { type: 'bad', id, message: 'payload is missing' };
  const { topic, target } = payload;
  if (!isTopic(topic)) return { type: 'bad', id, message: `topic must be one of ${streamTopics.join(', ')}` };
  const accountId = typeof target === 'string' ? accountOfTarget(target) : undefined;
  if (accountId === undefined) return { type: 'bad', id, message: 'target must be account:<account_id>' };
  return { type, id, topic, accountId };
}

function isTopic(value: unknown): value is StreamTopic {
  return (streamTopics as readonly unknown[]).includes(value);
}

/** `payload.data` of the order's event. */
export function encodeEventData(order: ExchangeOrder): string {
  return order.terms.stream === 'account' ? encodeAccountOrder(order, 'event') : encodePredictionOrder(order);
}

/** The whole event (specification, "Events") around data that is JSON already. */
export function encodeEvent(order: ExchangeOrder, data: string): string {
  const { stream, account } = order.terms;
  return `{"type":"event","timestamp":"${instantText(order.updatedAt)}","payload":{"topic":"${stream}","name":"${eventNames[stream]}","target":${jsonText(accountTarget(account.id))},"data":${data}}}`;
}

/** The specification's words. */
export const platformWords: VenueWords = { row: encodeRow, data: encodeEventData, event: encodeEvent };

/**
 * Any frame of RFC 6455, unmasked, for faults: `opcode` 1 text, 2 binary, 0 continuation, 9 ping.
 */
export function rawFrame(opcode: number, payload: Buffer, flags: { final?: boolean; reserved?: boolean } = {}): Buffer {
  const first = (flags.final === false ? 0 : 0x80) | (flags.reserved === true ? 0x40 : 0) | opcode;
  if (payload.length < 126) return Buffer.concat([Buffer.from([first, payload.length]), payload]);
  if (payload.length < 65_536) {
    const head = Buffer.from([first, 126, 0, 0]);
    head.writeUInt16BE(payload.length, 2);
    return Buffer.concat([head, payload]);
  }
  const head = Buffer.alloc(10);
  head[0] = first;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

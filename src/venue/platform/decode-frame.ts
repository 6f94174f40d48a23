import type { Stream } from '../../domain/order.ts';
import { answerFrame, errorFrame, eventFrame, idOf, jsonFrames, unreadableFrame } from '../frames.ts';
import { describeValue, type Fields, isObject } from '../row-reader.ts';
import type { Frame } from '../venue.ts';
import { accountOfTarget, eventNames, streamTopics } from './wire/stream-messages.ts';

const messages = {
  event: ({ payload }) => decodeEvent(payload),
  heartbeat: () => ({ kind: 'heartbeat' }),
  subscribed: ({ id }) => answerFrame('subscribed', id),
  unsubscribed: ({ id }) => answerFrame('unsubscribed', id),
  error: decodeError,
} as const satisfies Readonly<Record<string, (message: Fields) => Frame>>;

/**
 * The text of a frame → its kind and content (platform specification, "Events"; the rest is the
 * assumption of wire/stream-messages.ts).
 */
export const decodeFrame = jsonFrames('type', messages, decodeOther);

/** Its payload says what an event is, whatever its type is called; a type may be in any case. */
function decodeOther(message: Fields): Frame | undefined {
  const { type, payload } = message;
  if (isNamedEvent(payload)) return decodeEvent(payload);
  const word = typeof type === 'string' ? type.toLowerCase() : '';
  return Object.hasOwn(messages, word) ? messages[word as keyof typeof messages](message) : undefined;
}

function decodeEvent(payload: unknown): Frame {
  if (!isObject(payload)) return unreadableFrame('missing_field', 'payload: expected an object');
  const { topic, name } = payload;
  if (isLeftOut(topic) && isLeftOut(name)) return unreadableFrame('missing_field', 'payload.topic: expected a topic');
  const stream = streamOf(topic, name);
  if (stream === undefined)
    return unreadableFrame(
      isOrder(payload['data']) ? 'unknown_event' : 'unknown_message',
      `topic ${describeValue(topic)}, name ${describeValue(name)}`,
    );
  const target = payload['target'];
  const accountId = typeof target === 'string' && target !== '' ? accountOfTarget(target) : accountIn(payload, target);
  return eventFrame(stream, accountId, payload['data'], target);
}

/** An order topic says what its event is, and so does a name; both must fit. */
function streamOf(topic: unknown, name: unknown): Stream | undefined {
  for (const stream of streamTopics) if (says(topic, stream) && says(name, eventNames[stream])) return stream;
  return undefined;
}

/** In any case, or not at all. */
function says(value: unknown, word: string): boolean {
  return value === word || isLeftOut(value) || (typeof value === 'string' && value.toLowerCase() === word);
}

function isOrder(data: unknown): boolean {
  return isObject(data) && (idOf(data['ordId']) ?? idOf(data['orderId'])) !== undefined;
}

function isNamedEvent(payload: unknown): boolean {
  return isObject(payload) && isObject(payload['data']) && !(isLeftOut(payload['topic']) && isLeftOut(payload['name']));
}

function isLeftOut(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** An event that leaves its target out may name the account in its row, as rows of lists do. */
function accountIn({ data }: Fields, target: unknown): string | undefined {
  return isLeftOut(target) && isObject(data) ? idOf(data['accountId']) : undefined;
}

function decodeError(message: Fields): Frame {
  const { code, message: told } = isObject(message['payload']) ? message['payload'] : {};
  return errorFrame(typeof code === 'string' && code !== '' ? code : 'UNKNOWN', told ?? '', message['id']);
}

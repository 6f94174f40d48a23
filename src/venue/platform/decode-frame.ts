import type { Stream } from '../../domain/order.ts';
import { isPlatformId } from '../../domain/platform-id.ts';
import { parseJson } from '../parse-json.ts';
import { describeValue, type Fields, isObject } from '../row-reader.ts';
import type { Frame } from '../venue.ts';
import { accountOfTarget, eventNames, streamTopics } from './wire/stream-messages.ts';

/**
 * The text of a frame → its kind and content (platform specification, "Events"; the rest is the
 * assumption of wire/stream-messages.ts).
 */
export function decodeFrame(text: string): Frame {
  let message: unknown;
  try {
    message = parseJson(text);
  } catch (error) {
    return unreadable('not_json', error instanceof Error ? error.message : 'not JSON');
  }
  if (!isObject(message)) return unreadable('not_an_object', 'expected a JSON object');
  return decodeMessage(message, message['type']);
}

function decodeMessage(message: Fields, type: unknown): Frame {
  switch (type) {
    case 'event':
      return decodeEvent(message['payload']);
    case 'heartbeat':
      return { kind: 'heartbeat' };
    case 'subscribed':
    case 'unsubscribed': {
      const id = idOf(message['id']);
      if (id === undefined) return unreadable('missing_field', 'id: expected the id of a subscription');
      return { kind: type, id };
    }
    case 'error':
      return decodeError(message);
    default:
      // Its payload says what an event is, whatever its type is called.
      if (isNamedEvent(message['payload'])) return decodeEvent(message['payload']);
      if (typeof type === 'string' && type !== type.toLowerCase()) return decodeMessage(message, type.toLowerCase());
      return unreadable('unknown_message', `type: ${describeValue(message['type'])}`);
  }
}

function decodeEvent(payload: unknown): Frame {
  if (!isObject(payload)) return unreadable('missing_field', 'payload: expected an object');
  const { topic, name } = payload;
  if (isLeftOut(topic) && isLeftOut(name)) return unreadable('missing_field', 'payload.topic: expected a topic');
  const stream = streamOf(topic, name);
  if (stream === undefined)
    return unreadable(
      isOrder(payload['data']) ? 'unknown_event' : 'unknown_message',
      `topic ${describeValue(topic)}, name ${describeValue(name)}`,
    );
  const target = payload['target'];
  const accountId = typeof target === 'string' && target !== '' ? accountOfTarget(target) : accountIn(payload, target);
  if (accountId === undefined || !isPlatformId(accountId))
    return { ...unreadable('bad_target', `target: ${describeValue(target)}`), stream };
  return { kind: 'event', stream, accountId, row: payload['data'] };
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

/** A number stands for its text. */
function idOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && text !== '' ? text : undefined;
}

function decodeError(message: Fields): Frame {
  const payload = isObject(message['payload']) ? message['payload'] : {};
  const id = idOf(message['id']);
  return {
    kind: 'error',
    ...(id !== undefined && { id }),
    code: typeof payload['code'] === 'string' && payload['code'] !== '' ? payload['code'] : 'UNKNOWN',
    message: typeof payload['message'] === 'string' ? payload['message'].slice(0, 500) : '',
  };
}

function unreadable(reason: string, detail: string): Extract<Frame, { kind: 'unreadable' }> {
  return { kind: 'unreadable', reason, detail };
}

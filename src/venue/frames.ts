import type { Stream } from '../domain/order.ts';
import { isPlatformId } from '../domain/platform-id.ts';
import { parseJson } from './parse-json.ts';
import { describeValue, type Fields, isObject } from './row-reader.ts';
import type { CloseReason, Frame } from './venue.ts';

/** By the word in one field. */
type Messages = Readonly<Record<string, (message: Fields) => Frame>>;

/**
 * Reads messages that are JSON objects, with their kind in `field`. `otherwise`: for another word.
 * Never throws, if `messages` do not.
 */
export function jsonFrames(
  field: string,
  messages: Messages,
  otherwise: (message: Fields) => Frame | undefined = () => undefined,
): (text: string) => Frame {
  const byWord = new Map<unknown, Messages[string]>(Object.entries(messages));
  return (text) => {
    let message: unknown;
    try {
      message = parseJson(text);
    } catch (error) {
      return unreadableFrame('not_json', error instanceof Error ? error.message : 'not JSON');
    }
    if (!isObject(message)) return unreadableFrame('not_an_object', 'expected a JSON object');
    const word = message[field];
    const frame = (byWord.get(word) ?? otherwise)(message);
    return frame ?? unreadableFrame('unknown_message', `${field}: ${describeValue(word)}`);
  };
}

/** `target`: where the message has its account. */
export function eventFrame(stream: Stream, accountId: unknown, row: unknown, target = accountId): Frame {
  if (typeof accountId === 'string' && isPlatformId(accountId)) return { kind: 'event', stream, accountId, row };
  return { ...unreadableFrame('bad_target', `target: ${describeValue(target)}`), stream };
}

/** An answer to a request of ours. */
export function answerFrame(kind: 'subscribed' | 'unsubscribed', id: unknown): Frame {
  const found = idOf(id);
  return found === undefined
    ? unreadableFrame('missing_field', 'id: expected the id of a subscription')
    : { kind, id: found };
}

/** A request of ours was refused. */
export function errorFrame(code: string, message: unknown, id?: unknown): Frame {
  const found = idOf(id);
  return { kind: 'error', code, message: messageText(message), ...(found !== undefined && { id: found }) };
}

/** The venue ends the session. */
export function endedFrame(reason: CloseReason, message: unknown): Frame {
  return { kind: 'ended', reason, message: messageText(message) };
}

export function unreadableFrame(reason: string, detail: string): Extract<Frame, { kind: 'unreadable' }> {
  return { kind: 'unreadable', reason, detail };
}

/** For people: short for any value. */
export function messageText(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 500).toWellFormed() : describeValue(value);
}

/** A number stands for its text. */
export function idOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && text !== '' ? text : undefined;
}

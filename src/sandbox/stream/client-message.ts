import { accountOfTarget, type StreamTopic, streamTopics } from '../../platform/wire/event-envelope.ts';

/** The wish of a client, or why it cannot be understood. `id` is its own, when it could be read. */
export type ClientMessage =
  | { readonly type: 'subscribe' | 'unsubscribe'; readonly id: string; readonly topic: StreamTopic; readonly accountId: string }
  | { readonly type: 'bad'; readonly id?: string; readonly message: string };

/** Reads one message of a client (docs/platform-assumptions.md, "Order stream"). */
export function readClientMessage(data: Buffer, isBinary: boolean): ClientMessage {
  if (isBinary) return { type: 'bad', message: 'Messages are text' };
  let parsed: unknown;
  try {
    parsed = JSON.parse(data.toString('utf8'));
  } catch {
    return { type: 'bad', message: 'Messages are JSON' };
  }
  if (!isRecord(parsed)) return { type: 'bad', message: 'Messages are objects' };
  const id = parsed['id'];
  if (typeof id !== 'string' || id.length > 200) return { type: 'bad', message: 'id must be a string of at most 200 characters' };
  const { type, payload } = parsed;
  if (type !== 'subscribe' && type !== 'unsubscribe')
    return { type: 'bad', id, message: 'type must be subscribe or unsubscribe' };
  if (!isRecord(payload)) return { type: 'bad', id, message: 'payload is missing' };
  const { topic, target } = payload;
  if (!isTopic(topic)) return { type: 'bad', id, message: `topic must be one of ${streamTopics.join(', ')}` };
  const accountId = typeof target === 'string' ? accountOfTarget(target) : undefined;
  if (accountId === undefined) return { type: 'bad', id, message: 'target must be account:<account_id>' };
  return { type, id, topic, accountId };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTopic(value: unknown): value is StreamTopic {
  return (streamTopics as readonly unknown[]).includes(value);
}

import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import type { Secret } from '../../runtime/secret.ts';
import { parseJson } from '../parse-json.ts';
import { describeValue, type Fields, isObject } from '../row-reader.ts';
import type { Frame, StreamProtocol } from '../venue.ts';
import type { AlpacaStream } from './decode-alpaca-order.ts';
import { keyPairOf } from './key-source.ts';

/** The one stream with orders (Alpaca's documents, "Websocket Streaming"). */
const topic = 'trade_updates';

/**
 * Authenticate, listen, then a message for each event. A session has the account of its key pair,
 * so no message names it, and an acknowledgement answers all that was asked. The paper host sends
 * JSON in binary frames. There is no heartbeat, no sequence and no replay.
 */
export function tradeUpdates(stream: AlpacaStream): StreamProtocol {
  return {
    hello: authenticate,
    read: (text) => readMessage(text, stream),
    subscribe: () => listen([topic]),
    unsubscribe: () => listen([]),
  };
}

function authenticate(credential: Secret): string {
  const { keyId, secretKey } = keyPairOf(credential);
  return JSON.stringify({ action: 'authenticate', data: { key_id: keyId, secret_key: secretKey.reveal() } });
}

/** Each one names all streams that the session has from then on. */
function listen(streams: readonly string[]): string {
  return JSON.stringify({ action: 'listen', data: { streams } });
}

function readMessage(text: string, stream: AlpacaStream): Frame {
  const message = jsonOrUndefined(text, parseJson);
  if (message === undefined) return unreadable('not_json', 'expected JSON');
  if (!isObject(message)) return unreadable('not_an_object', 'expected a JSON object');
  const data = isObject(message['data']) ? message['data'] : {};
  if (message['action'] === 'error')
    return { kind: 'error', code: 'STREAM_ERROR', message: textOf(data['error_message']) };
  switch (message['stream']) {
    case topic:
      return readEvent(data, stream);
    case 'authorization':
      if (data['status'] === 'authorized') return { kind: 'signed_in' };
      return { kind: 'ended', reason: 'unauthorized', message: `the session is ${textOf(data['status'])}` };
    case 'listening': {
      const { streams } = data;
      return { kind: Array.isArray(streams) && streams.includes(topic) ? 'subscribed' : 'unsubscribed' };
    }
    default:
      return unreadable('unknown_message', `stream: ${describeValue(message['stream'])}`);
  }
}

/**
 * Its order is whole, whatever the event is called: a fill, a refused cancel, a busted trade. So
 * the word decides nothing.
 */
function readEvent({ order }: Fields, stream: AlpacaStream): Frame {
  if (order !== undefined && order !== null) return { kind: 'event', stream, row: order };
  return { ...unreadable('missing_field', 'data.order: expected an order'), stream };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 500).toWellFormed() : describeValue(value);
}

function unreadable(reason: string, detail: string): Extract<Frame, { kind: 'unreadable' }> {
  return { kind: 'unreadable', reason, detail };
}

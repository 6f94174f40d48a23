import type { Secret } from '../../runtime/secret.ts';
import { endedFrame, errorFrame, jsonFrames, messageText, unreadableFrame } from '../frames.ts';
import { keyPairOf } from '../key-source.ts';
import { type Fields, isObject } from '../row-reader.ts';
import type { Frame, StreamProtocol } from '../venue.ts';
import type { AlpacaStream } from './decode-alpaca-order.ts';

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
    read: jsonFrames(
      'stream',
      {
        [topic]: (message) => readEvent(dataOf(message), stream),
        authorization: (message) => readAuthorization(dataOf(message)),
        listening: (message) => {
          const { streams } = dataOf(message);
          return { kind: Array.isArray(streams) && streams.includes(topic) ? 'subscribed' : 'unsubscribed' };
        },
      },
      (message) =>
        message['action'] === 'error' ? errorFrame('STREAM_ERROR', dataOf(message)['error_message']) : undefined,
    ),
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

function dataOf({ data }: Fields): Fields {
  return isObject(data) ? data : {};
}

function readAuthorization({ status }: Fields): Frame {
  if (status === 'authorized') return { kind: 'signed_in' };
  return endedFrame('unauthorized', `the session is ${messageText(status)}`);
}

/**
 * Its order is whole, whatever the event is called: a fill, a refused cancel, a busted trade. So
 * the word decides nothing.
 */
function readEvent({ order }: Fields, stream: AlpacaStream): Frame {
  if (order !== undefined && order !== null) return { kind: 'event', stream, row: order };
  return { ...unreadableFrame('missing_field', 'data.order: expected an order'), stream };
}

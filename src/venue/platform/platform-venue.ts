import type { CloseReason, StreamProtocol, Venue } from '../venue.ts';
import { accountOrders } from './decode-account-order.ts';
import { decodeFrame } from './decode-frame.ts';
import { predictionOrders } from './decode-prediction-order.ts';
import { accountTarget, type StreamTopic, streamCloseCodes } from './wire/stream-messages.ts';

const closeReasons: ReadonlyMap<number, CloseReason> = new Map([
  [streamCloseCodes.unauthorized, 'unauthorized'],
  [streamCloseCodes.forbidden, 'forbidden'],
  [streamCloseCodes.slowConsumer, 'slow_consumer'],
  [streamCloseCodes.goingAway, 'restarting'],
  [streamCloseCodes.restarting, 'restarting'],
]);

/** Its topics have the names of our streams. */
function protocolOf(topic: StreamTopic): StreamProtocol {
  const message = (type: 'subscribe' | 'unsubscribe') => (id: string, accountId: string) =>
    JSON.stringify({ type, id, payload: { topic, target: accountTarget(accountId) } });
  return { read: decodeFrame, subscribe: message('subscribe'), unsubscribe: message('unsubscribe'), closeReasons };
}

export const platformVenue = {
  account: { orders: accountOrders, protocol: protocolOf('account') },
  prediction: { orders: predictionOrders, protocol: protocolOf('prediction') },
} satisfies Venue;

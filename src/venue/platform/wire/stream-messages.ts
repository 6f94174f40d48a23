import { z } from 'zod';
import { text, textOrNone } from './optional-field.ts';

/**
 * Every stream event's envelope.
 *
 * Specification ("Events"): `type` = `event`, `timestamp`, `payload.topic`, `payload.name`,
 * `payload.target` = `account:<account_id>`, `payload.data`; topic `account` with name
 * `account.order`.
 *
 * Assumption: topic `prediction` with name `prediction.order`, and `data` there is the whole
 * prediction order.
 */
export const streamTopics = ['account', 'prediction'] as const;
export type StreamTopic = (typeof streamTopics)[number];

export const eventNames = { account: 'account.order', prediction: 'prediction.order' } as const satisfies Record<
  StreamTopic,
  string
>;

export const eventEnvelope = z.looseObject({
  type: z.literal('event'),
  timestamp: text,
  payload: z.looseObject({
    topic: text,
    name: text,
    target: text,
    data: z.looseObject({}),
  }),
});

/** An account's target: `account:<account_id>`. */
export function accountTarget(accountId: string): string {
  return `account:${accountId}`;
}

/** A target's account, or undefined if it names none. */
export function accountOfTarget(target: string): string | undefined {
  return target.startsWith('account:') && target.length > 8 ? target.slice(8) : undefined;
}

/**
 * Everything on the order stream besides events. The specification shows none ("Connection address,
 * subscription handshake … not shown"), so all this is an **assumption**: upgrade of `GET
 * /v1/stream` with a bearer token, `subscribe` and `unsubscribe` answered by `subscribed`,
 * `unsubscribed` or `error`, a heartbeat every 15 s beside WebSocket pings every 15 s, the close
 * codes; no replay, no sequence number.
 */
const subscriptionPayload = z.looseObject({ topic: text, target: text });

/**
 * Answers the client's `subscribe` or `unsubscribe`, and these have the same payload; `id` is the
 * client's own.
 */
export const subscribedMessage = z.looseObject({
  type: z.enum(['subscribed', 'unsubscribed']),
  id: text,
  timestamp: text,
  payload: subscriptionPayload,
});

/** `id` is absent if the answered message could not be read. */
export const streamErrorMessage = z.looseObject({
  type: z.literal('error'),
  id: textOrNone,
  timestamp: text,
  /** `code`: `FORBIDDEN`, `UNKNOWN_TARGET`, `BAD_REQUEST`, `SLOW_CONSUMER`. */
  payload: z.looseObject({ code: text, message: text }),
});

export const heartbeatMessage = z.looseObject({ type: z.literal('heartbeat'), timestamp: text });

export const streamCloseCodes = {
  goingAway: 1001,
  restarting: 1012,
  unauthorized: 4401,
  forbidden: 4403,
  slowConsumer: 4429,
} as const;

/** The stream's path below its base. */
export const streamPath = '/v1/stream';

import { z } from 'zod';

/**
 * The envelope of every event on a stream.
 *
 * Specification ("Events"): `type` = `event`, `timestamp`, `payload.topic`, `payload.name`, `payload.target` = `account:<account_id>`,
 * `payload.data`; topic `account` with name `account.order`.
 *
 * Assumption: topic `prediction` with name `prediction.order`, whose `data` is the whole prediction order.
 */
export const streamTopics = ['account', 'prediction'] as const;
export type StreamTopic = (typeof streamTopics)[number];

export const eventNames = { account: 'account.order', prediction: 'prediction.order' } as const satisfies Record<
  StreamTopic,
  string
>;

export const eventEnvelope = z.looseObject({
  type: z.literal('event'),
  timestamp: z.string(),
  payload: z.looseObject({
    topic: z.string(),
    name: z.string(),
    target: z.string(),
    data: z.looseObject({}),
  }),
});

export type EventEnvelope = z.infer<typeof eventEnvelope>;

/** The target of an account: `account:<account_id>`. */
export function accountTarget(accountId: string): string {
  return `account:${accountId}`;
}

/** The account of a target, or undefined when it names none. */
export function accountOfTarget(target: string): string | undefined {
  return target.startsWith('account:') && target.length > 8 ? target.slice(8) : undefined;
}

import { z } from 'zod';

/** Faults of one event on its way to one connection. Rates are probabilities per event and connection. */
export const streamFaults = [
  'duplicate',
  'reorder',
  /** Lost, and the connection breaks a little later. */
  'drop',
  /** Lost on a connection that stays healthy. */
  'silent_loss',
  /** A frame that cannot be understood, beside the event. */
  'garbage',
  /** An event of an account that the connection may not see, beside the event. */
  'foreign',
  'cut',
  'half_open',
] as const;

/** Faults of one request. Rates are probabilities per GET (health and keys excepted). */
export const requestFaults = [
  /** The answer shows the state of `lagMs` ago. */
  'lag',
  'status_401',
  'status_403',
  'status_429',
  'status_500',
  'status_503',
  'html',
  'redirect',
  /** Half of the body, then the connection ends. */
  'torn',
  /** No answer until it heals. */
  'hang',
  'reset',
] as const;

/** Faults of one upgrade to a stream. */
export const upgradeFaults = ['status_401', 'status_403', 'status_500', 'html', 'hang', 'reset'] as const;

/** Faults of one subscription. */
export const subscribeFaults = ['no_ack', 'late_ack', 'early_event', 'refuse'] as const;

export const garbageKinds = [
  'not_json',
  'truncated_json',
  'html',
  'empty',
  'not_an_object',
  'unknown_type',
  'no_payload',
  'null_data',
  'missing_field',
  'bad_version',
  'bad_decimal',
  'bad_instant',
  'bad_utf8',
  'binary',
  'oversize',
  'unfinished_fragments',
  'reserved_bit',
  'ping_flood',
] as const;

export const cutWays = ['fin', 'rst', 'mid_frame'] as const;

export type StreamFault = (typeof streamFaults)[number];
export type RequestFault = (typeof requestFaults)[number];
export type UpgradeFault = (typeof upgradeFaults)[number];
export type SubscribeFault = (typeof subscribeFaults)[number];
export type GarbageKind = (typeof garbageKinds)[number];
export type CutWay = (typeof cutWays)[number];

const probability = z.number().min(0).max(1);
const counts = { times: z.number().int().min(1).default(1), skip: z.number().int().min(0).default(0) };
const place = { stream: z.enum(['account', 'prediction']).optional(), accountId: z.string().optional() };

/** A fault for the next `times` matches, after `skip` that are let pass. */
export const faultRule = z.discriminatedUnion('on', [
  z.strictObject({ on: z.literal('event'), fault: z.enum(streamFaults), ...counts, ...place, orderId: z.string().optional() }),
  z.strictObject({
    on: z.literal('request'),
    fault: z.enum(requestFaults),
    ...counts,
    method: z.string().optional(),
    /** The beginning of the path. */
    path: z.string().optional(),
  }),
  z.strictObject({ on: z.literal('upgrade'), fault: z.enum(upgradeFaults), ...counts }),
  z.strictObject({ on: z.literal('subscribe'), fault: z.enum(subscribeFaults), ...counts, ...place }),
]);

/** A fault that happens at once. */
export const faultAction = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('cut'), how: z.enum(cutWays).default('fin'), ...place }),
  z.strictObject({ action: z.literal('half_open'), ...place }),
  z.strictObject({ action: z.literal('close'), code: z.number().int().min(1000).max(4999), ...place }),
  z.strictObject({ action: z.literal('garbage'), kind: z.enum(garbageKinds), ...place }),
  z.strictObject({ action: z.literal('foreign'), ...place }),
  z.strictObject({ action: z.literal('expire_tokens'), lifetimeSeconds: z.number().int().min(1).optional() }),
  z.strictObject({ action: z.literal('revoke_tokens'), clientId: z.string().optional() }),
  /** The platform cannot confirm the open prediction orders of an account for a while. */
  z.strictObject({ action: z.literal('unknown_gap'), accountId: z.string(), forMs: z.number().int().min(0).default(2000) }),
  /** The platform lost its store of prediction orders of an account: versions restart, the last `forgotten` orders are gone from it. */
  z.strictObject({
    action: z.literal('unknown_store_lost'),
    accountId: z.string(),
    forMs: z.number().int().min(0).default(2000),
    forgotten: z.number().int().min(0).default(0),
  }),
]);

/** Body of `POST /faults`. Rates are merged by name, rules are added, actions happen at once. */
export const faultOrder = z.strictObject({
  stream: z.partialRecord(z.enum(streamFaults), probability).optional(),
  requests: z.partialRecord(z.enum(requestFaults), probability).optional(),
  /** How old the state is that lagging answers show. */
  lagMs: z.number().int().min(0).max(600_000).optional(),
  rules: z.array(faultRule).max(1000).optional(),
  now: z.array(faultAction).max(100).optional(),
});

export type FaultRule = z.infer<typeof faultRule>;
export type FaultAction = z.infer<typeof faultAction>;
export type FaultOrder = z.input<typeof faultOrder>;

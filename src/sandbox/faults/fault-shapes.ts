import { z } from 'zod';
import { probability, wholeNumber } from '../bounded.ts';
import { wireWords } from './wire-words.ts';

/**
 * One event's faults on its way to one connection. Rates are probabilities per event and
 * connection.
 */
export const streamFaults = [
  'duplicate',
  'reorder',
  /** Lost, and the connection breaks a little later. */
  'drop',
  /** Lost on a healthy connection. */
  'silent_loss',
  /** A frame that cannot be understood, beside the event. */
  'garbage',
  /** Beside the event, one from an account that the connection may not see. */
  'foreign',
  'cut',
  'half_open',
] as const;

/** One request's faults. Rates are probabilities per GET (health and keys excepted). */
export const requestFaults = [
  /** The answer shows the state `lagMs` ago. */
  'lag',
  'status_401',
  'status_403',
  'status_429',
  'status_500',
  'status_503',
  'html',
  'redirect',
  /** Half the body, then the connection ends. */
  'torn',
  /** No answer until it heals. */
  'hang',
  'reset',
] as const;

/** An upgrade's faults. */
const upgradeFaults = ['status_401', 'status_403', 'status_500', 'html', 'hang', 'reset'] as const;

/** A subscription's faults. */
const subscribeFaults = ['no_ack', 'late_ack', 'early_event', 'refuse'] as const;

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

/**
 * A write's faults at order entry: its answer. `applied` says whether the write is done. Rates are
 * probabilities per write.
 */
export const writeFaults = [
  /** 504 with the documented body. */
  'outcome_unknown',
  /** 504 without a body. */
  'status_504',
  /** 429 and 503 with the documented bodies. They promise that nothing was sent. */
  'at_capacity',
  'unavailable',
  /** The same statuses with foreign bodies. They promise nothing. */
  'status_429',
  'status_503',
  'status_500',
  /** As if the token had just grown old: nothing was looked at. */
  'status_401',
  'html',
  'redirect',
  /** The whole answer's first `at` bytes, head included, then the connection ends. */
  'torn',
  'hang',
  'reset',
  /** A success that shows another order. */
  'wrong_order',
] as const;

/** A new order's faults, if it came through order entry. Rates are probabilities per acceptance. */
export const orderFaults = [
  /** In no list, no GET and on no stream for a while: only the venue has it. */
  'hidden',
  /**
   * Lists and GETs do not show the caller's reference for a while, and a lookup by it finds
   * nothing. The stream shows it.
   */
  'unreferenced',
] as const;

/** Whether a write that meets a fault is done: never, before it is answered, or `delayMs` later. */
export const applications = ['no', 'yes', 'late'] as const;

export type WriteFault = (typeof writeFaults)[number];
export type Application = (typeof applications)[number];

/** Details left open by the documented answers; the first is the usual one. */
export const applicationsOf: Readonly<Record<WriteFault, readonly Application[]>> = {
  outcome_unknown: applications,
  status_504: applications,
  at_capacity: ['no'],
  unavailable: ['no'],
  status_429: applications,
  status_503: applications,
  status_500: applications,
  status_401: ['no'],
  html: applications,
  redirect: applications,
  // Only a done write has an answer to tear or to confuse.
  torn: ['yes'],
  hang: applications,
  reset: applications,
  wrong_order: ['yes', 'no', 'late'],
};

export type OrderFault = (typeof orderFaults)[number];
export type StreamFault = (typeof streamFaults)[number];
export type RequestFault = (typeof requestFaults)[number];
export type UpgradeFault = (typeof upgradeFaults)[number];
export type SubscribeFault = (typeof subscribeFaults)[number];
export type GarbageKind = (typeof garbageKinds)[number];
export type CutWay = (typeof cutWays)[number];

/** The longest delay: longer than any client's schedule. */
const longestMs = 3_600_000;
const duration = wholeNumber(0, longestMs);
/** One fixed length, or drawn between the two. */
const durationRange = z.union([
  duration,
  z.tuple([duration, duration]).refine(([from, to]) => from <= to, { message: 'the shorter one comes first' }),
]);

const counts = { times: wholeNumber(1).default(1), skip: wholeNumber(0).default(0) };
const place = { stream: z.enum(['account', 'prediction']).optional(), accountId: z.string().optional() };

const writeRule = z
  .strictObject({
    on: z.literal('write'),
    fault: z.enum(writeFaults),
    applied: z.enum(applications).optional(),
    /** For `applied` `late`. */
    delayMs: durationRange.default(1000),
    /** For `torn`. Left out: half of it. */
    at: wholeNumber(0).optional(),
    ...counts,
    ...place,
    write: z.enum(['place', 'replace', 'cancel']).optional(),
    /** `clientId` or `clientOrderRef`. */
    reference: z.string().optional(),
  })
  .refine((rule) => rule.applied === undefined || applicationsOf[rule.fault].includes(rule.applied), {
    path: ['applied'],
    message: 'this fault leaves it another way',
  });

/** A fault for the next `times` matches, after the first `skip`. */
export const faultRule = z.discriminatedUnion('on', [
  z.strictObject({
    on: z.literal('event'),
    fault: z.enum(streamFaults),
    ...counts,
    ...place,
    orderId: z.string().optional(),
  }),
  z.strictObject({
    on: z.literal('request'),
    fault: z.enum(requestFaults),
    ...counts,
    method: z.string().optional(),
    /** The path's beginning. */
    path: z.string().optional(),
  }),
  writeRule,
  z.strictObject({
    on: z.literal('order'),
    fault: z.enum(orderFaults),
    forMs: durationRange.default(5000),
    ...counts,
    ...place,
    /** `clientId` or `clientOrderRef`. */
    reference: z.string().optional(),
  }),
  z.strictObject({ on: z.literal('upgrade'), fault: z.enum(upgradeFaults), ...counts }),
  z.strictObject({ on: z.literal('subscribe'), fault: z.enum(subscribeFaults), ...counts, ...place }),
]);

/** A fault that happens at once. */
const faultAction = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('cut'), how: z.enum(cutWays).default('fin'), ...place }),
  z.strictObject({ action: z.literal('half_open'), ...place }),
  z.strictObject({ action: z.literal('close'), code: wholeNumber(1000, 4999), ...place }),
  z.strictObject({ action: z.literal('garbage'), kind: z.enum(garbageKinds), ...place }),
  z.strictObject({ action: z.literal('foreign'), ...place }),
  z.strictObject({ action: z.literal('expire_tokens'), lifetimeSeconds: wholeNumber(1).optional() }),
  z.strictObject({ action: z.literal('revoke_tokens'), clientId: z.string().optional() }),
  /** The platform cannot confirm an account's open prediction orders for a while. */
  z.strictObject({
    action: z.literal('unknown_gap'),
    accountId: z.string(),
    forMs: wholeNumber(0).default(2000),
  }),
  /**
   * The platform lost an account's store of prediction orders: versions restart, the last
   * `forgotten` orders are gone from it.
   */
  z.strictObject({
    action: z.literal('unknown_store_lost'),
    accountId: z.string(),
    forMs: wholeNumber(0).default(2000),
    forgotten: wholeNumber(0).default(0),
  }),
]);

/** Body of `POST /faults`. Rates are merged by name, rules are added, actions happen at once. */
export const faultOrder = z.strictObject({
  stream: z.partialRecord(z.enum(streamFaults), probability).optional(),
  requests: z.partialRecord(z.enum(requestFaults), probability).optional(),
  writes: z.partialRecord(z.enum(writeFaults), probability).optional(),
  orders: z.partialRecord(z.enum(orderFaults), probability).optional(),
  wire: wireWords.optional(),
  /** How late a rate's delayed writes are done. */
  lateMs: durationRange.optional(),
  /** How long a rate hides orders or their references. */
  concealMs: durationRange.optional(),
  /** The age of the state in lagging answers. */
  lagMs: wholeNumber(0, 600_000).optional(),
  rules: z.array(faultRule).max(1000).optional(),
  now: z.array(faultAction).max(100).optional(),
});

export type DurationRange = z.infer<typeof durationRange>;
export type FaultRule = z.infer<typeof faultRule>;
export type FaultAction = z.infer<typeof faultAction>;
export type FaultOrder = z.input<typeof faultOrder>;

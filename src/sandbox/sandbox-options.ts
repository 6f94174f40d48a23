import { z } from 'zod';
import { scopes } from '../venue/platform/wire/oauth.ts';
import { themes } from '../venue/platform/wire/research.ts';
import { refreshModes } from './auth/refresh-tokens.ts';
import { probability, wholeNumber } from './bounded.ts';
import { faultOrder } from './faults/fault-shapes.ts';
import { venueChange, venueOptions } from './venue/venue.ts';

const port = wholeNumber(0, 65_535).default(0);
const rate = z.union([z.number().min(0).max(10_000_000), z.literal('max')]);

export const accountPart = z.strictObject({
  id: z.string().min(1).max(50),
  /** Enrolled in the closed beta for prediction orders. */
  predictions: z.boolean(),
  /** The market makes orders here. */
  traded: z.boolean().default(true),
});

export const userPart = z.strictObject({
  username: z.string().min(1),
  password: z.string().min(1),
  /** The 6-digit code for this user's verification; null without MFA. */
  mfa: z
    .string()
    .regex(/^\d{6}$/)
    .nullable()
    .default(null),
  accounts: z.array(accountPart),
});

export const clientPart = z.strictObject({
  clientId: z.string().min(1),
  /** Left out: a public client. */
  clientSecret: z.string().min(1).optional(),
  /** Compared as text. A fragment is not allowed (RFC 6749, section 3.1.2). */
  redirectUris: z.array(z.url().regex(/^[^#]*$/)).default([]),
  scopes: z.array(z.enum(scopes)).default([...scopes]),
  /** A client-credentials token of this client sees these users' accounts. */
  users: z.array(z.string()).default([]),
});

const moment = z.strictObject({
  /** Milliseconds after the start. */
  atMs: wholeNumber(0),
  faults: faultOrder.optional(),
  heal: z.literal(true).optional(),
  rate: rate.optional(),
  burst: wholeNumber(1, 10_000_000).optional(),
  venue: venueChange.optional(),
});

/**
 * Everything that a sandbox is made from: a scenario file's shape, too. Every part may be left out.
 * Without `users` and `clients` there is the default cast (`register-cast.ts`).
 */
export const sandboxOptions = z.strictObject({
  /** For editors: the address of `scenario.schema.json`. */
  $schema: z.string().optional(),
  /**
   * All four ports listen on this address. Any program that reaches the control port owns the
   * sandbox: anything but loopback is for a network of its own.
   */
  host: z
    .string()
    .regex(/^[0-9A-Za-z.:_-]{1,253}$/)
    .default('127.0.0.1'),
  /** 0: any free port. */
  ports: z.strictObject({ platform: port, staging: port, auth: port, control: port }).prefault({}),
  market: z
    .strictObject({
      /** The same seed makes the same orders. */
      seed: wholeNumber(0, 4_294_967_295).default(1),
      /** Changes a second over all accounts, or as fast as the machine and the readers can. */
      rate: rate.default(20),
      /** The number of orders that the market keeps working. */
      openOrders: wholeNumber(0, 5_000_000).default(200),
      /** Orders there already at the start, open ones included. */
      knownOrders: wholeNumber(0, 5_000_000).default(400),
      /** Prediction orders' share. */
      predictionShare: probability.default(0.5),
      /**
       * The oldest closed orders are forgotten beyond this. An order takes 1.3 to 1.6 kB of the
       * heap, and Node gives itself 1 GB on a machine of 2 GB: so many fit at the highest rate.
       */
      maxOrders: wholeNumber(1, 10_000_000).default(500_000),
      catchUpMs: wholeNumber(1, 60_000).default(1000),
    })
    .prefault({}),
  research: z
    .strictObject({
      /** Meetings in the FDA calendar; with 0 it answers 404. */
      fdaEvents: wholeNumber(0, 1000).default(12),
      /** Themes without a stock: they answer 404. */
      emptyThemes: z.array(z.enum(themes)).default([]),
    })
    .prefault({}),
  venue: venueOptions,
  /** For `--venue alpaca` alone. */
  alpaca: z
    .strictObject({
      /** For each account. Alpaca gives 200. */
      requestsPerMinute: wholeNumber(1, 1_000_000).default(200),
    })
    .prefault({}),
  /** Accounts in the default cast, not counting the one that no other user may see. */
  accounts: wholeNumber(1, 10_000).default(3),
  users: z.array(userPart).min(1).optional(),
  clients: z.array(clientPart).min(1).optional(),
  tokens: z
    .strictObject({
      lifetimeSeconds: wholeNumber(1, 86_400).default(3600),
      /** Each new access token ends the ones before of its client, or of its user. */
      single: z.boolean().default(false),
      refresh: z
        .strictObject({
          /**
           * `none`: the same one stays good; `rotate`: an old one that comes again ends the family;
           * `grace`: not for a while.
           */
          mode: z.enum(refreshModes).default('rotate'),
          graceSeconds: wholeNumber(1, 3600).default(30),
          lifetimeSeconds: wholeNumber(1, 31_536_000).default(2_592_000),
        })
        .prefault({}),
    })
    .prefault({}),
  stream: z
    .strictObject({
      /** Between heartbeats, and between pings. */
      heartbeatMs: wholeNumber(10, 600_000).default(15_000),
      /** A reader counts as too slow once more bytes than this wait for it. */
      maxBacklogBytes: wholeNumber(1024).default(128 * 1024 * 1024),
      /** How long a reader may take to answer its connection's end before it is cut. */
      closeGraceMs: wholeNumber(100, 600_000).default(2_000),
    })
    .prefault({}),
  ledger: z
    .strictObject({
      /** On disk at most, in a temporary folder. */
      maxBytes: wholeNumber(1_000_000).default(2 * 1024 ** 3),
      /**
       * `brief` leaves the orders' states out: benchmarks share the disk with the measured service.
       */
      detail: z.enum(['full', 'brief']).default('full'),
    })
    .prefault({}),
  timeline: z.array(moment).max(10_000).default([]),
});

export type SandboxOptions = z.output<typeof sandboxOptions>;
export type SandboxInput = z.input<typeof sandboxOptions>;
export type Moment = SandboxOptions['timeline'][number];

/** `max` as a number. */
export function rateOf(value: number | 'max'): number {
  return value === 'max' ? Number.POSITIVE_INFINITY : value;
}

/** A scenario file's JSON Schema (2020-12), for editors and for programs that generate one. */
export function scenarioSchema(): Record<string, unknown> {
  return JSON.parse(JSON.stringify(z.toJSONSchema(sandboxOptions, { io: 'input', unrepresentable: 'any' }))) as Record<
    string,
    unknown
  >;
}

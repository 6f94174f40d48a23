import { z } from 'zod';
import { parseDecimal } from '../domain/decimal.ts';
import { isInstant } from '../domain/instant.ts';
import type { Order } from '../domain/order.ts';
import { instrumentKind, named, orderStatus, stream } from './words.ts';

/**
 * A canonical decimal: equal values have equal text. The pattern is for JSON Schema, which cannot
 * ask the parser; a fraction never ends in zero.
 */
export const decimal = z
  .string()
  .regex(/^-?(?:0|[1-9][0-9]{0,39})(?:\.[0-9]{0,39}[1-9])?$/)
  .refine((text) => parseDecimal(text) === text)
  .describe('Exact decimal in canonical form: no exponent, no leading or trailing zeros');

/** An int64 as text: it may be above 2^53. */
export const int64 = z.string().regex(/^(?:0|[1-9][0-9]{0,18})$/);

/**
 * ISO 8601 with Z or an offset. JSON Schema's `date-time` is looser than our parser, which knows
 * each month's days.
 */
export const instant = z
  .string()
  .refine(isInstant)
  .meta({ format: 'date-time' })
  .describe('ISO 8601 date-time with Z or an offset');

const leg = named('Leg', 'One leg of an option order', {
  symbol: z.string().describe('Compact OCC option symbol'),
  side: z.string().describe('As the side of an order'),
  ratioQty: decimal,
  positionEffect: z.string().optional().describe('open, close'),
});

const instrument = named('Instrument', 'The thing that is traded', {
  kind: instrumentKind,
  symbol: z.string(),
  outcome: z.string().optional().describe('Prediction markets: YES or NO'),
  legs: z.array(leg).optional().describe('Options: one leg, or two to four'),
});

const working = named('WorkingTerms', 'The terms that the venue works on', {
  quantity: decimal.optional(),
  price: decimal.optional(),
  orderType: z.string().optional(),
});

/**
 * The normalised order (docs/consuming.md), as it stands in Postgres, on Kafka and in REST answers.
 * Optional means absent at the source: never zero, never empty. Objects are open: a field added by
 * a later minor version must not break a reader of this one.
 */
export const normalisedOrder = named('NormalisedOrder', 'Normalised order', {
  stream,
  orderId: z.string(),
  accountId: z.string(),
  instrument,
  side: z.string().describe('buy, sell; on accounts also sell_short, buy_to_cover. Small letters on both streams'),
  orderType: z.string(),
  timeInForce: z.string(),
  status: orderStatus,
  statusRaw: z.string().describe("The platform's own word"),
  certainty: z
    .string()
    .describe(
      'certain, unknown_unacked, unknown_gap, unknown_store_lost, or a later word. Anything but certain: the platform itself does not know',
    ),
  certaintyReason: z.string().optional(),
  pendingAction: z.string().describe('none, replace, cancel, or a later word'),
  quantity: decimal.optional().describe('Absent: the order is for an amount of money, notional'),
  notional: decimal.optional().describe('An amount of money, in place of a quantity'),
  price: decimal.optional(),
  stopPrice: decimal.optional(),
  working,
  cumQty: decimal.describe('Filled so far. Falls only with the cause correction'),
  leavesQty: decimal
    .optional()
    .describe('Still working; 0 on an account order that is over. Absent: an order for an amount is at work'),
  avgPrice: decimal.optional(),
  clOrdId: z.string().optional(),
  clientOrderRef: z.string().optional(),
  venueOrderId: z.string().optional(),
  replaces: z.string().optional().describe('The order whose terms it changed, where a replace makes a new order'),
  replacedBy: z.string().optional().describe('The order that changed its terms'),
  placedBy: z.string().optional(),
  commandId: z.string().optional().describe('The command of Tidemark that placed it'),
  callerRef: z.string().optional().describe("The caller's own reference"),
  origin: z.enum(['tidemark', 'external']),
  sourceEpoch: z.int().positive().optional().describe('Rises when the platform lost its store; absent is 0'),
  incarnation: z
    .int()
    .min(2)
    .optional()
    .describe('The platform gave the id again: 2, 3 … for each further order under it; absent is the first one'),
  rejectReason: z.string().optional(),
  rejectText: z.string().optional(),
  createdAt: instant.optional(),
  updatedAt: instant,
  sentAt: instant.optional(),
  firstAckAt: instant.optional(),
  closedAt: instant.optional(),
  expireTime: instant.optional(),
  conflict: z.string().optional().describe('The sources contradict each other: a person should look'),
  extra: z.record(z.string(), z.unknown()).optional().describe('Fields that Tidemark does not know, as they came'),
} satisfies Record<keyof Order, z.ZodType>);

import { z } from 'zod';
import { updateSchema, watermarkSchema } from '../domain/encode-update.ts';
import { decimal, instant, int64, normalisedOrder } from './normalised-order.ts';
import { count, named, stream } from './words.ts';

const fill = named(
  'Fill',
  'The rise of cumQty since the revision before; inferred where several fills may be merged or a gap lies between',
  { quantity: decimal, price: decimal.optional(), inferred: z.boolean() },
);

/**
 * One accepted change, as it stands in the log and on the order-updates and order-state topics
 * (docs/consuming.md).
 */
export const updateRecord = named(
  'OrderUpdate',
  'One accepted change, and on the state topic the newest of each order: keep the highest (generation, revision)',
  {
    eventId: z.string().describe('<stream>:<orderId>:<revision>'),
    schema: z.literal(updateSchema),
    generation: count.describe(
      'Rises only after a loss of commits (restore, failover); keep the highest (generation, revision)',
    ),
    stream,
    orderId: z.string(),
    accountId: z.string(),
    revision: z.int().positive().describe('Per order 1, 2, 3 … without a hole'),
    sourceVersion: int64.optional().describe("The platform's version, int64 as text"),
    sourceEpoch: z.int().positive().optional(),
    lane: count.optional().describe('The lane that wrote it. Absent where the row of the log is gone'),
    batch: int64.optional().describe('The batch of the lane that it was committed with: see `proof` of watermarks'),
    cause: z.enum(['stream', 'snapshot', 'reply', 'probe', 'correction']),
    occurredAt: instant.describe('When it happened, by the platform'),
    observedAt: instant.describe('When the service learnt of it, by the clock of its database'),
    changed: z.array(z.string()).describe('Top-level fields of the order that differ from the revision before'),
    fill: fill.optional(),
    order: normalisedOrder,
  },
);

const proof = named('BatchProof', 'Count and hash of the updates of some batches of a lane', {
  lane: count,
  generation: count,
  after: int64.describe('The batches above this one'),
  upTo: int64.describe('Up to and with this one'),
  count: count.describe('The number of updates of these batches'),
  hash: z
    .string()
    .regex(/^[0-9a-f]{12}$/)
    .describe('Sum of the first 48 bits of the SHA-256 of each value, modulo 2^48'),
});

/**
 * A statement about a source, as it stands in the log and on the watermark topic. A record before
 * it in the log also happened before it.
 */
export const watermarkRecord = named('Watermark', 'A statement about a source', {
  eventId: z.string(),
  schema: z.literal(watermarkSchema),
  stream,
  accountIds: z
    .array(z.string())
    .min(1)
    .describe('The accounts that it is about: many for a heartbeat, one for any other event'),
  event: z.enum(['live', 'lost', 'resynchronised', 'heartbeat']).describe('heartbeat: complete up to `at`'),
  at: instant,
  from: instant.optional().describe('Begin of what may have been missed'),
  to: instant.optional().describe('End of what may have been missed'),
  reason: z.string().optional(),
  ordersRead: count.optional().describe('Of `resynchronised`: how many orders the complete read showed'),
  ordersRepaired: count.optional().describe('Of `resynchronised`: how many orders were changed by reading'),
  repairedOrderIds: z.array(z.string()).max(100).optional().describe('Those orders, the first 100 of them'),
  unreadOrderIds: z
    .array(z.string())
    .max(100)
    .optional()
    .describe('Of a `heartbeat`: orders that it does not speak for, since the platform shows them in no readable row'),
  proof: proof.optional(),
});

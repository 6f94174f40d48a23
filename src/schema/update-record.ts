import { z } from 'zod';
import { continuitySchema, updateSchema } from '../domain/encode-update.ts';
import { decimal, instant, normalisedOrder } from './normalised-order.ts';

const fill = z.object({ quantity: decimal, price: decimal.optional(), inferred: z.boolean() }).meta({
  id: 'Fill',
  description: 'The rise of cumQty since the revision before; inferred where several fills may be merged or a gap lies between',
});

/** One accepted change, as it stands in the log and on the order-updates and order-state topics (docs/consuming.md). */
export const updateRecord = z
  .object({
    eventId: z.string().describe('<stream>:<orderId>:<revision>'),
    schema: z.literal(updateSchema),
    generation: z.int().nonnegative().describe('Rises only after a restore from backup; keep the highest (generation, revision)'),
    stream: z.enum(['account', 'prediction']),
    orderId: z.string(),
    accountId: z.string(),
    revision: z.int().positive().describe('Per order 1, 2, 3 … without a hole'),
    sourceVersion: z
      .string()
      .regex(/^(?:0|[1-9][0-9]{0,18})$/)
      .optional()
      .describe("The platform's version, int64 as text"),
    sourceEpoch: z.int().positive().optional(),
    cause: z.enum(['stream', 'snapshot', 'reply', 'probe', 'correction']),
    occurredAt: instant,
    observedAt: instant,
    changed: z.array(z.string()).describe('Top-level fields of the order that differ from the revision before'),
    fill: fill.optional(),
    order: normalisedOrder,
  })
  .meta({ id: 'OrderUpdate', description: 'Order update' });

/** A statement about a source, as it stands in the log and on the continuity topic: a record before it in the log also happened before it. */
export const continuityRecord = z
  .object({
    eventId: z.string(),
    schema: z.literal(continuitySchema),
    stream: z.enum(['account', 'prediction']),
    accountIds: z
      .array(z.string())
      .min(1)
      .describe('The accounts that it is about: many for a heartbeat, one for any other event'),
    event: z.enum(['live', 'lost', 'resynchronised', 'heartbeat']),
    at: instant,
    from: instant.optional().describe('Begin of what may have been missed'),
    to: instant.optional().describe('End of what may have been missed'),
    reason: z.string().optional(),
  })
  .meta({ id: 'ContinuityMark', description: 'Continuity mark' });

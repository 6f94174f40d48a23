import { z } from 'zod';
import { continuitySchema } from '../domain/encode-continuity.ts';
import { instant } from './normalised-order.ts';

/** A statement about a source, as it stands in the log and on the continuity topic: everything that came before it on the log, came before it in fact. */
export const continuityRecord = z
  .object({
    eventId: z.string(),
    schema: z.literal(continuitySchema),
    stream: z.enum(['account', 'prediction']),
    accountId: z.string(),
    event: z.enum(['live', 'lost', 'resynchronised', 'heartbeat']),
    at: instant,
    from: instant.optional().describe('Begin of what may have been missed'),
    to: instant.optional().describe('End of what may have been missed'),
    reason: z.string().optional(),
  })
  .meta({ id: 'Continuity', title: 'Continuity mark' });

import { z } from 'zod';
import { parseInstant } from '../domain/instant.ts';
import type { Stream } from '../domain/order.ts';
import { type BodyResult, parseBody } from './body-fields.ts';
import { reasonText } from './command-bodies.ts';
import { stream } from './words.ts';

/** `POST /v1/accounts/{id}/read`. */
export const readAccountBody = z
  .strictObject({ reason: reasonText, stream: stream.optional().describe('Only this stream') })
  .meta({ id: 'ReadAccountRequest', description: 'Read the newest changes of an account' });

/** `POST /v1/accounts/{id}/backfill`. */
export const backfillBody = z
  .strictObject({
    ...readAccountBody.shape,
    from: z
      .string()
      .refine((text) => (parseInstant(text) ?? -1n) >= 0n, 'must be a time in ISO 8601 with its zone, from 1970 on')
      .optional()
      .describe('Orders that changed since then; left out: every order of the account')
      .meta({ format: 'date-time' }),
  })
  .meta({ id: 'BackfillRequest', description: 'Read an account from a time on, or whole' });

/** `sinceMs`: for a backfill, milliseconds since the epoch. */
export function parseAccountRead(
  kind: 'read' | 'backfill',
  body: unknown,
): BodyResult<{ readonly reason: string; readonly stream?: Stream; readonly sinceMs?: number }> {
  const shape: typeof backfillBody | typeof readAccountBody = kind === 'read' ? readAccountBody : backfillBody;
  return parseBody(shape, body, (value: z.infer<typeof backfillBody>) => ({
    reason: value.reason.trim(),
    ...(value.stream !== undefined && { stream: value.stream }),
    ...(value.from !== undefined && { sinceMs: Number((parseInstant(value.from) ?? 0n) / 1_000_000n) }),
  }));
}

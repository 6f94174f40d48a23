import { z } from 'zod';
import { parseInstant } from '../domain/instant.ts';
import { present } from '../domain/present.ts';
import { parseBody } from './body-fields.ts';
import { reasonText } from './command-bodies.ts';
import { namedBody, stream } from './words.ts';

/** `POST /v1/accounts/{id}/read`. */
export const readAccountBody = namedBody('ReadAccountRequest', 'Read the newest changes of an account', {
  reason: reasonText,
  stream: stream.optional().describe('Only this stream'),
});

/** `POST /v1/accounts/{id}/backfill`. */
export const backfillBody = namedBody('BackfillRequest', 'Read an account from a time on, or whole', {
  ...readAccountBody.shape,
  from: z
    .string()
    .refine((text) => (parseInstant(text) ?? -1n) >= 0n, 'must be a time in ISO 8601 with its zone, from 1970 on')
    .optional()
    .describe('Orders that changed since then; left out: every order of the account')
    .meta({ format: 'date-time' }),
});

/** `sinceMs`: for a backfill, milliseconds since the epoch. */
export function parseAccountRead(kind: 'read' | 'backfill', body: unknown) {
  const shape: typeof backfillBody | typeof readAccountBody = kind === 'read' ? readAccountBody : backfillBody;
  return parseBody(shape, body, ({ from, ...value }: z.infer<typeof backfillBody>) => ({
    ...present(value),
    ...(from !== undefined && { sinceMs: Number((parseInstant(from) ?? 0n) / 1_000_000n) }),
  }));
}

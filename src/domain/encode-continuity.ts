import { formatInstant } from './instant.ts';
import type { ContinuityMark } from './observation.ts';

export const continuitySchema = 'tidemark.continuity.v1';

/** The payload of a continuity mark: the exact text of its log row and of the Kafka record. Instants are ISO 8601; `from` and `to` bound what may have been missed. */
export function encodeContinuity(mark: ContinuityMark): string {
  const { markId, stream, accountId, event, atMs, fromMs, toMs, reason } = mark;
  return JSON.stringify({
    eventId: markId,
    schema: continuitySchema,
    stream,
    accountId,
    event,
    at: formatInstant(atMs),
    ...(fromMs === undefined ? undefined : { from: formatInstant(fromMs) }),
    ...(toMs === undefined ? undefined : { to: formatInstant(toMs) }),
    ...(reason === undefined ? undefined : { reason }),
  });
}

import type { Venue } from '../venue/venue.ts';
import { predictionRefusal } from './refusals.ts';
import type { Refusal } from './write.ts';

/** Why prediction order entry takes nothing just now; nothing is sent to the venue then (specification, "Prediction order errors", 503 and 429). */
export function entryClosed(venue: Venue): Refusal | undefined {
  if (venue.options.session === 'down')
    return predictionRefusal('ORDER_ENTRY_UNAVAILABLE', 'The session with the venue is down; nothing was sent');
  if (venue.waitingCount >= venue.options.capacity)
    return predictionRefusal('ORDER_ENTRY_AT_CAPACITY', 'Order entry is at capacity; nothing was sent');
  return undefined;
}

import type { Stream } from '../../domain/order.ts';
import { traits } from '../../domain/streams.ts';
import type { Random } from '../../runtime/random.ts';
import type { Venue } from '../venue.ts';
import { checkLives } from './check-lives.ts';
import { checkFrames, checkHostile, checkRows, checkWords } from './check-streams.ts';
import { checkWrites } from './check-writes.ts';
import type { Check, StreamFixtures, VenueUnderCheck } from './fixtures.ts';
import { check } from './reading.ts';

/** Whether a venue keeps the port's contract, over its fixtures: all checks, part by part. */
export function* checkVenue(under: VenueUnderCheck, random: Random): Iterable<Check> {
  for (const stream of Object.keys(under.venue) as Stream[]) {
    const fixtures = under.streams[stream];
    if (!Object.hasOwn(traits, stream)) yield check('frames', stream, 'its row in domain/streams.ts', 'there is none');
    else if (fixtures === undefined) yield check('frames', stream, 'fixtures', 'none are recorded');
    else yield* checkStream(under.venue, stream, fixtures, random);
  }
  yield* checkWrites(under);
}

function* checkStream(venue: Venue, stream: Stream, fixtures: StreamFixtures, random: Random): Iterable<Check> {
  yield* checkFrames(venue, stream, fixtures);
  yield* checkHostile(venue, stream, fixtures);
  yield* checkRows(venue, stream, fixtures);
  yield* checkWords(venue, stream, fixtures);
  yield* checkLives(venue, stream, fixtures, random);
}

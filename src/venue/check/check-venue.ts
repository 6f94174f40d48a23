import type { Stream } from '../../domain/order.ts';
import type { Random } from '../../runtime/random.ts';
import { checkLives } from './check-lives.ts';
import { checkFrames, checkHostile, checkRows, checkWords } from './check-streams.ts';
import { checkWrites } from './check-writes.ts';
import type { Check, StreamFixtures, VenueUnderCheck } from './fixtures.ts';

/** Whether a venue keeps the port's contract, over its fixtures: all checks, part by part. */
export function* checkVenue(under: VenueUnderCheck, random: Random): Iterable<Check> {
  for (const [stream, fixtures] of Object.entries(under.streams) as [Stream, StreamFixtures][]) {
    yield* checkFrames(under.venue, stream, fixtures);
    yield* checkHostile(under.venue, stream, fixtures);
    yield* checkRows(under.venue, stream, fixtures);
    yield* checkWords(under.venue, stream, fixtures);
    yield* checkLives(under.venue, stream, fixtures, random);
  }
  yield* checkWrites(under);
}

import type { VenueUnderCheck } from '../check/fixtures.ts';
import { alpacaVenue } from './alpaca-venue.ts';
import { judgeAlpacaWrite } from './alpaca-writes.ts';
import { alpacaStream } from './fixtures/stream.ts';
import { alpacaWriteFixtures } from './fixtures/writes.ts';

/** Alpaca with its fixtures, for `tidemark venue check alpaca`. */
export const alpacaCheck = {
  venue: alpacaVenue,
  streams: { alpaca: alpacaStream('alpaca'), alpaca_paper: alpacaStream('alpaca_paper') },
  writes: alpacaWriteFixtures,
  judgeWrite: judgeAlpacaWrite,
} satisfies VenueUnderCheck;

import type { VenueUnderCheck } from '../check/fixtures.ts';
import { accountStream } from './fixtures/account-stream.ts';
import { predictionStream } from './fixtures/prediction-stream.ts';
import { writeFixtures } from './fixtures/writes.ts';
import { judgeOrderWrite } from './order-writes.ts';
import { platformVenue } from './platform-venue.ts';

/** The platform with its fixtures, for `tidemark venue check platform`. */
export const platformCheck = {
  venue: platformVenue,
  streams: { account: accountStream, prediction: predictionStream },
  writes: writeFixtures,
  judgeWrite: judgeOrderWrite,
} satisfies VenueUnderCheck;

import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Instrument } from '../market/instruments.ts';
import type { Venue } from '../venue/venue.ts';
import type { LateWrites } from './late-writes.ts';

/** The parts that order entry works with. */
export interface EntryDeps {
  readonly exchange: Exchange;
  readonly venue: Venue;
  readonly clock: Clock;
  /** For ids. */
  readonly random: Random;
  readonly lateWrites: LateWrites;
  /** The underlying or the prediction market of that name; undefined when nothing trades it. */
  readonly instrument: (stream: 'account' | 'prediction', symbol: string) => Instrument | undefined;
  /** Puts the changes that a write makes at once down to order entry, in the ledger. */
  readonly during: <T>(work: () => T) => T;
}

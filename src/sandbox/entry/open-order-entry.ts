import type { Ambient } from '../../observability/ambient.ts';
import { newYorkDay } from '../data/trading-days.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Market } from '../market/market.ts';
import { seededRandom } from '../seeded-random.ts';
import { referencePrice } from '../venue/match-order.ts';
import { MatchingEngine } from '../venue/matching-engine.ts';
import { Venue, type VenueOptions } from '../venue/venue.ts';
import { type EntryDeps, LateWrites } from './write.ts';

export interface OpenEntryDeps extends Pick<Ambient, 'clock' | 'random'> {
  readonly exchange: Exchange;
  readonly market: Market;
  readonly during: <T>(cause: 'entry' | 'venue', work: () => T) => T;
  readonly answersEveryOrder: boolean;
}

/**
 * Order entry on the market's instruments: from now on each trade in one is met by people's orders.
 */
export function openOrderEntry(deps: OpenEntryDeps, options: VenueOptions, seed: number): EntryDeps {
  const { clock, random, exchange, market, during, answersEveryOrder } = deps;
  const { equities, predictions } = market.inventor;
  const instrument: EntryDeps['instrument'] = (stream, symbol) => market.inventor.instrument(stream, symbol);
  const engine = new MatchingEngine(
    {
      exchange,
      random: seededRandom(seed ^ 0x0de47),
      instrumentOf: ({ terms }) => instrument(terms.stream, terms.symbol),
      priceOf: ({ terms }, it) => referencePrice(terms, it, newYorkDay(clock.nowMs())),
    },
    options,
  );
  const venue = new Venue(
    {
      exchange,
      engine,
      clock,
      random: seededRandom(seed ^ 0x0a45e7),
      nextVenueOrderId: () => market.nextVenueOrderId(),
      during: (work) => during('venue', work),
      answersEveryOrder,
    },
    options,
  );
  for (const traded of [...equities, ...predictions]) traded.onPrice = (it) => venue.onPrice(it);
  const lateWrites = new LateWrites({ clock });
  return { exchange, venue, clock, random, lateWrites, instrument, during: (work) => during('entry', work) };
}

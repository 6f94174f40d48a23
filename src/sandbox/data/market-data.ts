import type { Clock } from '../../runtime/clock.ts';
import type { Instrument } from '../market/instruments.ts';
import { DayPrices } from './day-prices.ts';

interface MarketDataOptions {
  readonly seed: number;
  /** Meetings in the FDA calendar; 0 makes it answer 404. */
  readonly fdaEvents: number;
  /** Themes without a stock: they answer 404. */
  readonly emptyThemes: readonly string[];
}

/** The data endpoints' source: the market's own prices, and everything else made from the seed. */
export class MarketData {
  readonly prices: DayPrices;
  readonly options: MarketDataOptions;
  private readonly clock: Clock;

  constructor(deps: { clock: Clock; instruments: readonly Instrument[] }, options: MarketDataOptions) {
    this.clock = deps.clock;
    this.options = options;
    this.prices = new DayPrices(deps, options.seed);
  }

  get seed(): number {
    return this.options.seed;
  }

  nowMs(): number {
    return this.clock.nowMs();
  }
}

import type { Random } from '../../runtime/random.ts';

/** A whole number from 0 to `count` − 1. */
export function below(random: Random, count: number): number {
  return Math.floor(random.next() * count);
}

/** One from a list that is not empty. */
export function oneOf<T>(random: Random, choices: readonly T[]): T {
  return choices[below(random, choices.length)] as T;
}

/** True with the given probability. */
export function happens(random: Random, probability: number): boolean {
  return random.next() < probability;
}

/**
 * One of the market's. Prices are in ticks of 0.01; a prediction's lie in (0, 1). Every price move
 * goes through `ticks`, so that the day's range never contradicts the price.
 */
export class Instrument {
  readonly symbol: string;
  /** The walk's start. */
  readonly firstTicks: number;
  /** The highest and lowest since the last `beginRange`. */
  high: number;
  low: number;
  /** Called after each trade that set the price, whether it moved or not. */
  onPrice: ((instrument: Instrument) => void) | undefined;
  private nowTicks: number;

  constructor(symbol: string, firstTicks: number) {
    this.symbol = symbol;
    this.firstTicks = firstTicks;
    this.nowTicks = firstTicks;
    this.high = firstTicks;
    this.low = firstTicks;
  }

  get ticks(): number {
    return this.nowTicks;
  }

  set ticks(value: number) {
    this.nowTicks = value;
    if (value > this.high) this.high = value;
    if (value < this.low) this.low = value;
    this.onPrice?.(this);
  }

  beginRange(): void {
    this.high = this.nowTicks;
    this.low = this.nowTicks;
  }
}

/** Equities and the underlyings of options. */
export function equities(): Instrument[] {
  return [
    ['AAPL', 22_150],
    ['MSFT', 41_220],
    ['NVDA', 13_805],
    ['AMZN', 20_410],
    ['GOOG', 17_733],
    ['TSLA', 24_980],
    ['JPM', 23_145],
    ['XOM', 11_870],
    ['KO', 6_402],
    ['F', 1_108],
    ['PLTR', 4_115],
    ['BRK.B', 45_890],
  ].map(([symbol, ticks]) => new Instrument(String(symbol), Number(ticks)));
}

/** Markets with the outcomes YES and NO. */
export function predictionMarkets(): Instrument[] {
  return [
    ['FED-CUT-DEC26', 62],
    ['CPI-ABOVE-3-NOV26', 41],
    ['BTC-100K-2026', 37],
    ['GDP-Q4-POSITIVE', 83],
    ['SHUTDOWN-2026', 22],
    ['OSCARS-BP-DRAMA', 55],
    ['RAIN-NYC-25DEC', 48],
    ['SPX-6000-YE26', 71],
  ].map(([symbol, ticks]) => new Instrument(String(symbol), Number(ticks)));
}

import { listingOf, split } from './listings.ts';
import { type DayNumber, tradingDayBefore } from './trading-days.ts';

/**
 * A number in [0, 1) for a seed and some whole numbers: the same ones always give the same number,
 * in any order of requests. So any day's data can be made on request, while a generator would have
 * to be wound forward to it.
 */
export function noise(seed: number, ...parts: readonly number[]): number {
  let hash = seed ^ 0x9e3779b9;
  for (const part of parts) {
    // MurmurHash3's finaliser: every bit in a part reaches every bit in the result.
    hash = Math.imul(hash ^ part, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    hash ^= hash >>> 16;
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 12)) >>> 0) / 4294967296;
}

/** A text as a whole number for `noise` (FNV-1a, 32 bits). */
export function numberOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}

/** One regular session. Prices in ticks of 0.01. */
export interface DailyBar {
  readonly day: DayNumber;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  /** Shares. */
  readonly volume: number;
  readonly trades: number;
}

/** Trading days before the start that have data. */
const historyDays = 300;

/**
 * The stocks' past before the sandbox began, made from the seed backwards. The market's walk begins
 * at the last close, so that "the change since yesterday" is the walk's own, and every bar opens
 * near the close before it.
 */
export class DailyBars {
  /** The last trading day before the start. */
  readonly lastDay: DayNumber;
  private readonly days: DayNumber[] = [];
  private readonly indexOfDay = new Map<DayNumber, number>();
  private readonly bySymbol = new Map<string, DailyBar[]>();
  private readonly seed: number;

  constructor(seed: number, today: DayNumber) {
    this.seed = seed;
    this.lastDay = tradingDayBefore(today);
    for (let day = this.lastDay; this.days.length < historyDays; day = tradingDayBefore(day)) {
      this.indexOfDay.set(day, this.days.length);
      this.days.push(day);
    }
  }

  /** Newest first. */
  get tradingDays(): readonly DayNumber[] {
    return this.days;
  }

  /**
   * A past day's bar, or undefined if there is none. `firstTicks`: the start of this symbol's walk.
   * Adjusted for splits.
   */
  barOf(symbol: string, firstTicks: number, day: DayNumber): DailyBar | undefined {
    const index = this.indexOfDay.get(day);
    if (index === undefined) return undefined;
    let bars = this.bySymbol.get(symbol);
    if (bars === undefined) {
      bars = this.make(symbol, firstTicks);
      this.bySymbol.set(symbol, bars);
    }
    return bars[index];
  }

  private make(symbol: string, firstTicks: number): DailyBar[] {
    const id = numberOf(symbol);
    const typical = typicalVolume(symbol);
    const bars: DailyBar[] = [];
    let close = firstTicks;
    for (const day of this.days) {
      const draw = (what: number) => noise(this.seed, id, day, what);
      const open = atLeastOne(close * (1 + (draw(0) - 0.5) * 0.03));
      const volume = Math.round(typical * (0.6 + draw(3)));
      bars.push({
        day,
        open,
        high: Math.round(Math.max(open, close) * (1 + draw(1) * 0.008)),
        low: atLeastOne(Math.min(open, close) * (1 - draw(2) * 0.008)),
        close,
        volume,
        trades: Math.ceil(volume / (90 + Math.floor(draw(4) * 60))),
      });
      close = atLeastOne(open * (1 + (draw(5) - 0.5) * 0.01));
    }
    return bars;
  }
}

/** The bar as it was traded on its day, before a later split. */
export function unadjusted(symbol: string, bar: DailyBar): DailyBar {
  if (symbol !== split.symbol) return bar;
  const { open, high, low, close, volume } = bar;
  const prices = { open: open * split.into, high: high * split.into, low: low * split.into, close: close * split.into };
  return { ...bar, ...prices, volume: Math.round(volume / split.into) };
}

export function typicalVolume(symbol: string): number {
  return Math.max(1000, (listingOf(symbol)?.thousandShares ?? 1000) * 4);
}

function atLeastOne(ticks: number): number {
  return Math.max(1, Math.round(ticks));
}

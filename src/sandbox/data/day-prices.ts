import type { Clock } from '../../runtime/clock.ts';
import type { Instrument } from '../market/instruments.ts';
import { type DailyBar, DailyBars, noise, numberOf, typicalVolume, unadjusted } from './daily-bars.ts';
import { type DayNumber, isTradingDay, newYorkDay, newYorkInstant, session, tradingDayBefore } from './trading-days.ts';

/** A stock just now. Prices in ticks of 0.01. */
export interface LivePrice {
  readonly last: number;
  readonly bid: number;
  readonly ask: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly previousClose: number;
  readonly volume: number;
}

/**
 * Stocks' prices: the days before the start from the seed, since then from the market's walk.
 *
 * Invariant: low ≤ last ≤ high, and a day's bar never changes once the next trading day has begun.
 * The walk goes on at all hours, so its move between two sessions counts to the later one.
 */
export class DayPrices {
  readonly bars: DailyBars;
  private readonly clock: Clock;
  private readonly seed: number;
  private readonly instruments: ReadonlyMap<string, Instrument>;
  /** Trading days that ended while the sandbox ran. */
  private readonly lived = new Map<string, DailyBar>();
  /** The last trading day before the running one. */
  private lastDay: DayNumber;

  constructor(deps: { clock: Clock; instruments: readonly Instrument[] }, seed: number) {
    this.clock = deps.clock;
    this.seed = seed;
    this.instruments = new Map(deps.instruments.map((instrument) => [instrument.symbol, instrument]));
    this.bars = new DailyBars(seed, this.today);
    this.lastDay = this.bars.lastDay;
  }

  /** The date in New York. */
  get today(): DayNumber {
    return newYorkDay(this.clock.nowMs());
  }

  live(symbol: string): LivePrice | undefined {
    this.turnDay();
    const instrument = this.instruments.get(symbol);
    if (instrument === undefined) return undefined;
    const { ticks: last, high, low } = instrument;
    const previousClose = this.previousBar(symbol)?.close ?? instrument.firstTicks;
    // The session opens at the last one's close; the walk has no gaps.
    const range = { open: previousClose, high: Math.max(high, previousClose), low: Math.min(low, previousClose) };
    return {
      last,
      bid: Math.max(1, last - 1),
      ask: last + 1,
      ...range,
      previousClose,
      volume: this.volumeSoFar(symbol),
    };
  }

  /**
   * The last session that is over; with `adjusted` false as it was traded then. Undefined for a
   * symbol that is not traded.
   */
  previousBar(symbol: string, adjusted = true): DailyBar | undefined {
    this.turnDay();
    const instrument = this.instruments.get(symbol);
    if (instrument === undefined) return undefined;
    const bar = this.lastBar(instrument);
    // Every day before the start is before the split.
    return adjusted || bar === undefined || bar.day > this.bars.lastDay ? bar : unadjusted(symbol, bar);
  }

  /**
   * The stock's price at a share (0 to 1) of a session, for past quotes. The same answer at any
   * time.
   */
  at(symbol: string, day: DayNumber, share: number): number | undefined {
    const instrument = this.instruments.get(symbol);
    if (instrument === undefined) return undefined;
    const bar = this.bars.barOf(symbol, instrument.firstTicks, day);
    const [open, close] = bar === undefined ? [instrument.firstTicks, instrument.firstTicks] : [bar.open, bar.close];
    const swing = (noise(this.seed, numberOf(symbol), day, Math.floor(share * 10_000)) - 0.5) * open * 0.002;
    const ticks = Math.round(open + (close - open) * share + swing);
    return Math.max(bar?.low ?? 1, Math.min(bar?.high ?? Number.MAX_SAFE_INTEGER, ticks));
  }

  /**
   * Begins another day at the first question on it: moves until then belong to the day that ended.
   */
  private turnDay(): void {
    const lastDay = tradingDayBefore(this.today);
    if (lastDay === this.lastDay) return;
    for (const [symbol, instrument] of this.instruments) {
      const { high, low, ticks: close } = instrument;
      const open = this.lastBar(instrument)?.close ?? instrument.firstTicks;
      const range = { open, high: Math.max(high, open), low: Math.min(low, open), close };
      const volume = this.dayVolume(symbol, lastDay);
      const bar = { day: lastDay, ...range, volume, trades: Math.ceil(volume / 120) };
      this.lived.set(`${symbol} ${lastDay}`, bar);
      this.lived.delete(`${symbol} ${this.lastDay}`);
      instrument.beginRange();
    }
    this.lastDay = lastDay;
  }

  private lastBar({ symbol, firstTicks }: Instrument): DailyBar | undefined {
    return this.lived.get(`${symbol} ${this.lastDay}`) ?? this.bars.barOf(symbol, firstTicks, this.lastDay);
  }

  /**
   * Grows evenly over the session: nothing before it, all of it afterwards. A day without a session
   * has none.
   */
  private volumeSoFar(symbol: string): number {
    const today = this.today;
    if (!isTradingDay(today)) return 0;
    const nowMs = this.clock.nowMs();
    const opensMs = newYorkInstant(today, session.opensAt);
    const share = (nowMs - opensMs) / (newYorkInstant(today, session.closesAt) - opensMs);
    return Math.floor(this.dayVolume(symbol, today) * Math.min(1, Math.max(0, share)));
  }

  private dayVolume(symbol: string, day: DayNumber): number {
    return Math.round(typicalVolume(symbol) * (0.6 + noise(this.seed, numberOf(symbol), day, 3)));
  }
}

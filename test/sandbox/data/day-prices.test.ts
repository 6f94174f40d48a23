import { describe, expect, it } from 'vitest';
import { unadjusted } from '../../../src/sandbox/data/daily-bars.ts';
import { DayPrices } from '../../../src/sandbox/data/day-prices.ts';
import { equities } from '../../../src/sandbox/market/instruments.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const dayMs = 86_400_000;

/** Prices on a clock that begins on Friday, 20 November 2026, 10:00 in New York. */
function prices(seed = 1) {
  const clock = new VirtualClock(Date.parse('2026-11-20T15:00:00Z'));
  const instruments = equities();
  const apple = instruments.find(({ symbol }) => symbol === 'AAPL');
  if (apple === undefined) throw new Error('no such instrument');
  return { clock, apple, instruments, days: new DayPrices({ clock, instruments }, seed) };
}

describe('prices of stocks', () => {
  it('begin the walk where the last session closed', () => {
    const { days, instruments } = prices();
    for (const { symbol, firstTicks } of instruments) {
      expect(days.previousBar(symbol)?.close).toBe(firstTicks);
      expect(days.live(symbol)).toMatchObject({ last: firstTicks, open: firstTicks, previousClose: firstTicks });
    }
    expect(days.live('GONE')).toBeUndefined();
  });

  it('are the same for the same seed and day, and others for another seed', () => {
    const bars = (seed: number) =>
      prices(seed).days.bars.tradingDays.map((day) => prices(seed).days.bars.barOf('KO', 6402, day));
    expect(bars(5).slice(0, 20)).toEqual(bars(5).slice(0, 20));
    expect(bars(5).slice(1, 20)).not.toEqual(bars(6).slice(1, 20));
  });

  it('keep every bar in itself: low ≤ open, close ≤ high', () => {
    const { days, instruments } = prices();
    for (const { symbol, firstTicks } of instruments)
      for (const day of days.bars.tradingDays) {
        const bar = days.bars.barOf(symbol, firstTicks, day);
        if (bar === undefined) throw new Error('no bar');
        expect(bar.low).toBeLessThanOrEqual(Math.min(bar.open, bar.close));
        expect(bar.high).toBeGreaterThanOrEqual(Math.max(bar.open, bar.close));
        expect(bar.low).toBeGreaterThan(0);
        expect(bar.volume).toBeGreaterThan(0);
      }
  });

  it('show the range that the walk really had, between two looks as well', () => {
    const { days, apple } = prices();
    apple.ticks = 22_400;
    apple.ticks = 21_900;
    apple.ticks = 22_100;
    expect(days.live('AAPL')).toMatchObject({ last: 22_100, high: 22_400, low: 21_900, bid: 22_099, ask: 22_101 });
  });

  it('turn what was walked into the bar of the day when the next trading day has begun', () => {
    const { days, apple, clock } = prices();
    apple.ticks = 22_500;
    apple.ticks = 22_300;
    // Saturday and Sunday belong to Friday's session still.
    clock.stepWall(dayMs);
    expect(days.previousBar('AAPL')).toMatchObject({ open: 22_150, high: 22_500, low: 22_150, close: 22_300 });
    expect(days.live('AAPL')).toMatchObject({ open: 22_300, high: 22_300, low: 22_300, previousClose: 22_300 });
    const friday = days.previousBar('AAPL');
    apple.ticks = 22_000;
    clock.stepWall(dayMs);
    expect(days.previousBar('AAPL')).toEqual(friday);
    clock.stepWall(2 * dayMs);
    expect(days.previousBar('AAPL')).toMatchObject({ open: 22_300, high: 22_300, low: 22_000, close: 22_000 });
  });

  it('show a day before a split as it was traded then, when asked to', () => {
    const { days } = prices();
    const bar = days.previousBar('KO');
    if (bar === undefined) throw new Error('no bar');
    const raw = days.previousBar('KO', false);
    expect(raw).toEqual(unadjusted('KO', bar));
    expect(raw?.close).toBe(2 * bar.close);
    expect(days.previousBar('AAPL', false)).toEqual(days.previousBar('AAPL'));
  });

  it('let the volume of the day grow with the session', () => {
    const { days, clock } = prices();
    const morning = days.live('AAPL')?.volume ?? 0;
    clock.stepWall(Date.parse('2026-11-20T20:00:00Z') - clock.nowMs());
    const afternoon = days.live('AAPL')?.volume ?? 0;
    expect(morning).toBeGreaterThan(0);
    expect(afternoon).toBeGreaterThan(morning);
  });

  it('trade no volume on days without a session', () => {
    const { days, clock } = prices();
    // Saturday, Sunday, Thanksgiving, each at noon.
    for (const noon of ['2026-11-21T17:00:00Z', '2026-11-22T17:00:00Z', '2026-11-26T17:00:00Z']) {
      clock.stepWall(Date.parse(noon) - clock.nowMs());
      expect(days.live('AAPL')?.volume).toBe(0);
    }
    clock.stepWall(Date.parse('2026-11-27T17:00:00Z') - clock.nowMs());
    expect(days.live('AAPL')?.volume).toBeGreaterThan(0);
  });
});

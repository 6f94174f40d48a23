import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayMs, newYorkDay, newYorkInstant } from '../../../src/sandbox/data/trading-days.ts';

const hourMs = 3_600_000;
const newYork = new Intl.DateTimeFormat('en-CA', {
  ...{ timeZone: 'America/New_York', hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
});

/** What the clocks of New York show, as if it were UTC. */
function shownMs(atMs: number): number {
  return Date.parse(`${newYork.format(atMs).replace(', ', 'T')}Z`);
}

/** Around each change of the clocks, and anywhere. */
const instant = fc
  .record({
    year: fc.integer({ min: 2008, max: 2099 }),
    around: fc.constantFrom('03-08T07:00:00', '11-01T06:00:00'),
    sunday: fc.integer({ min: 0, max: 6 }),
    besideMs: fc.oneof(
      fc.constantFrom(-hourMs, -1000, -1, 0, 1, hourMs),
      fc.integer({ min: -2 * hourMs, max: 2 * hourMs }),
      fc.integer({ min: -180 * dayMs, max: 180 * dayMs }),
    ),
  })
  .map(({ year, around, sunday, besideMs }) => Date.parse(`${year}-${around}Z`) + sunday * dayMs + besideMs);

describe('the clocks of New York', () => {
  it('show the day that Intl shows, also around each change of the clocks', () => {
    fc.assert(
      fc.property(instant, (atMs) => {
        expect(newYorkDay(atMs)).toBe(Math.floor(shownMs(atMs) / dayMs));
      }),
      { numRuns: 2_000 },
    );
  });

  it('show the minutes that were asked for, or an hour before those that a change of the clocks leaves out', () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: 0, max: 24 * 60 - 1 }), (near, minutes) => {
        const midnight = newYorkDay(near) * dayMs;
        const shown = shownMs(newYorkInstant(newYorkDay(near), minutes)) - midnight;
        const leaps = shownMs(midnight + 7 * hourMs) - shownMs(midnight + 7 * hourMs - 1000) > hourMs;
        const isLeftOut = leaps && minutes >= 120 && minutes < 180;
        expect(shown).toBe((minutes + (isLeftOut ? -60 : 0)) * 60_000);
      }),
      { numRuns: 2_000 },
    );
  });
});

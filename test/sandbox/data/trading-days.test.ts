import { describe, expect, it } from 'vitest';
import {
  dayText,
  isTradingDay,
  newYorkDay,
  newYorkInstant,
  parseDay,
  session,
  tradingDayBefore,
} from '../../../src/sandbox/data/trading-days.ts';

const day = (text: string) => parseDay(text) ?? Number.NaN;

describe('New York days', () => {
  it.each([
    ['2026-11-21T04:59:59.999Z', '2026-11-20'],
    ['2026-11-21T05:00:00.000Z', '2026-11-21'],
    ['2026-07-01T03:59:59.999Z', '2026-06-30'],
    ['2026-07-01T04:00:00.000Z', '2026-07-01'],
  ])('%s is on %s', (instant, date) => {
    expect(dayText(newYorkDay(Date.parse(instant)))).toBe(date);
  });

  it('open at half past nine and close at four of their own clocks, summer and winter', () => {
    const at = (date: string, minutes: number) => new Date(newYorkInstant(day(date), minutes)).toISOString();
    expect(at('2026-11-20', session.opensAt)).toBe('2026-11-20T14:30:00.000Z');
    expect(at('2026-07-01', session.closesAt)).toBe('2026-07-01T20:00:00.000Z');
    // Midnight and noon of the days on which the clocks change.
    expect([at('2026-03-08', 0), at('2026-03-08', 720)]).toEqual([
      '2026-03-08T05:00:00.000Z',
      '2026-03-08T16:00:00.000Z',
    ]);
    expect([at('2026-11-01', 0), at('2026-11-01', 720)]).toEqual([
      '2026-11-01T04:00:00.000Z',
      '2026-11-01T17:00:00.000Z',
    ]);
  });

  it('are no trading days at weekends and on the holidays of the exchanges', () => {
    const closed = [
      '2026-01-01',
      '2026-01-19',
      '2026-02-16',
      '2026-04-03',
      '2026-05-25',
      '2026-06-19',
      '2026-07-03',
      '2026-09-07',
      '2026-11-26',
      '2026-12-25',
      '2023-01-02',
      '2027-12-24',
      '2026-11-21',
      '2026-11-22',
    ];
    expect(closed.filter((date) => isTradingDay(day(date)))).toEqual([]);
    // A New Year's Day on a Saturday is kept on no other day.
    expect(['2021-12-31', '2026-11-27', '2026-07-02'].filter((date) => !isTradingDay(day(date)))).toEqual([]);
    expect(dayText(tradingDayBefore(day('2026-11-29')))).toBe('2026-11-27');
  });

  it('read dates that exist, and nothing else', () => {
    expect(['2026-02-30', '2026-13-01', '2026-1-1', '20260101', ''].map(parseDay)).toEqual(Array(5).fill(undefined));
    expect(dayText(day('2028-02-29'))).toBe('2028-02-29');
  });
});

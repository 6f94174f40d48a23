import { describe, expect, it } from 'vitest';
import { nextCloseMs } from '../../../src/sandbox/venue/match-order.ts';

describe('a trading day', () => {
  it.each([
    ['in the morning of a Friday', '2026-11-20T14:00:00Z', '2026-11-20T21:00:00.000Z'],
    ['a millisecond before the close', '2026-11-20T20:59:59.999Z', '2026-11-20T21:00:00.000Z'],
    ['at the close, when it is the next day', '2026-11-20T21:00:00Z', '2026-11-23T21:00:00.000Z'],
    ['on a Saturday', '2026-11-21T12:00:00Z', '2026-11-23T21:00:00.000Z'],
    ['over Thanksgiving', '2026-11-25T22:00:00Z', '2026-11-27T21:00:00.000Z'],
    ['in summer, an hour earlier by UTC', '2026-07-01T12:00:00Z', '2026-07-01T20:00:00.000Z'],
    ['over the change of the clocks', '2026-03-06T22:00:00Z', '2026-03-09T20:00:00.000Z'],
  ])('ends with the next close of the session: %s', (_when, now, close) => {
    expect(new Date(nextCloseMs(Date.parse(now))).toISOString()).toBe(close);
  });
});

import { expect, it } from 'vitest';
import { RowReader } from '../../src/venue/row-reader.ts';

it.each([
  [1795184701, 1_000, '2026-11-20T14:25:01.000Z'],
  ['1795184701', 1_000, '2026-11-20T14:25:01.000Z'],
  [1795184701041, 1, '2026-11-20T14:25:01.041Z'],
  ['1795184701041223', 0.001, '2026-11-20T14:25:01.041Z'],
])('a count since the epoch is an instant: %s times %s ms', (at, unitMs, instant) => {
  const row = new RowReader({ at });
  expect([row.epoch('at', unitMs), row.fault]).toEqual([instant, undefined]);
});

it.each([
  [undefined, 'missing_field'],
  ['', 'missing_field'],
  ['noon', 'bad_instant'],
  [-1, 'bad_instant'],
  [1.5, 'bad_instant'],
  ['99999999999999999', 'bad_instant'],
  [Number.POSITIVE_INFINITY, 'bad_instant'],
  [[[1]], 'bad_instant'],
])('a count that is none is a fault: %j', (at, reason) => {
  const row = new RowReader({ at });
  row.epoch('at', 1_000);
  expect(row.fault?.reason).toBe(reason);
});

import { expect, it } from 'vitest';
import { CalmDelays } from './calm-delays.ts';

const record = (occurredMs: number, lateMs: number, cause = 'stream') => ({
  partition: 0,
  offset: 0n,
  key: 'SIM-1',
  value: JSON.stringify({ accountId: 'SIM-1', cause, occurredAt: new Date(occurredMs).toISOString() }),
  timestampMs: occurredMs + lateMs,
});

it('measures updates of an account while one process serves it, without a second at each end', () => {
  const delays = new CalmDelays();
  for (let atMs = 10_000; atMs <= 20_000; atMs += 200) delays.look(atMs, new Map([['SIM-1', 'a']]));
  delays.look(20_200, new Map());
  const inside = [record(11_000, 5), record(15_000, 7), record(19_000, 9)];
  const outside = [record(10_500, 1_000), record(19_900, 6_000), record(25_000, 1), record(15_000, 60_000, 'audit')];
  expect(delays.delays([...inside, ...outside])).toEqual([5, 7, 9]);
});

it('begins anew where another process serves the account', () => {
  const delays = new CalmDelays();
  for (let atMs = 0; atMs < 10_000; atMs += 200) delays.look(atMs, new Map([['SIM-1', atMs < 5_000 ? 'a' : 'b']]));
  expect(delays.delays([record(3_000, 1), record(5_500, 2), record(7_000, 3)])).toEqual([1, 3]);
});

import { expect, it } from 'vitest';
import { DarkTimes } from './dark-times.ts';

const says = (live: Record<string, readonly string[]>) => new Map(Object.entries(live));

it('an account is dark from the last look at which a process served it to the next such look', () => {
  const times = new DarkTimes();
  times.look(0, says({ a: ['SIM-1', 'SIM-2'] }));
  times.look(200, says({ a: ['SIM-2'] }));
  times.look(400, says({ a: ['SIM-2'] }));
  expect(times.darkNow).toEqual(['SIM-1']);
  times.look(600, says({ a: ['SIM-2'], b: ['SIM-1'] }));
  expect(times.ended).toEqual([{ cause: 'moved by agreement', lastedMs: 600 }]);
});

it('what a struck process says does not count, until it is released', () => {
  const times = new DarkTimes();
  times.look(0, says({ a: ['SIM-1', 'SIM-2'] }));
  times.strike('a', 'freeze');
  times.look(200, says({ a: ['SIM-1', 'SIM-2'] }));
  times.look(1_000, says({ a: ['SIM-1', 'SIM-2'], b: ['SIM-1'] }));
  times.release('a');
  times.look(3_000, says({ a: ['SIM-2'], b: ['SIM-1'] }));
  expect(times.ended).toEqual([
    { cause: 'freeze', lastedMs: 1_000 },
    { cause: 'freeze', lastedMs: 3_000 },
  ]);
  expect(times.report()).toEqual(['dark, freeze: 2 times, p50 1.0 s, p99 3.0 s, longest 3.0 s']);
});

it('an account that comes back at the same process was connected anew', () => {
  const times = new DarkTimes();
  times.look(0, says({ a: ['SIM-1'] }));
  times.look(200, says({ a: [] }));
  times.look(400, says({ a: ['SIM-1'] }));
  expect(times.ended).toEqual([{ cause: 'connected anew', lastedMs: 400 }]);
});

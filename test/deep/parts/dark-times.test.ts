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

it.each([
  ['frozen while it takes the account over', (times: DarkTimes) => times.strike('b', 'freeze')],
  ['cut from Kafka meanwhile', (times: DarkTimes) => times.hamper('b')],
])('a dark time is counted by itself where the next process is %s', (_trouble, trouble) => {
  const times = new DarkTimes();
  times.look(0, says({ a: ['SIM-1', 'SIM-2'] }));
  times.look(200, says({}), new Map([['b', { accounts: ['SIM-1'], atMs: 100 }]]));
  trouble(times);
  times.look(400, says({}), new Map([['b', { accounts: ['SIM-1'], atMs: 100 }]]));
  times.release('b');
  times.look(600, says({ c: ['SIM-1', 'SIM-2'] }));
  expect(times.ended).toEqual([
    { cause: 'moved by agreement, and the process that had it then was in trouble too', lastedMs: 600 },
    { cause: 'moved by agreement', lastedMs: 600 },
  ]);
});

it('a dark time is counted by itself where the process is struck while it gives the account, or after it took it again', () => {
  const times = new DarkTimes();
  times.look(0, says({ a: ['SIM-1'] }));
  times.look(200, says({}), new Map([['a', { accounts: ['SIM-1'], atMs: 200 }]]));
  times.strike('a', 'cut from the platform');
  times.look(400, says({}), new Map([['a', { accounts: ['SIM-1'], atMs: 400 }]]));
  times.release('a');
  times.look(9_000, says({ b: ['SIM-1'] }));
  expect(times.ended).toEqual([
    { cause: 'moved by agreement, and the process that had it then was in trouble too', lastedMs: 9_000 },
  ]);
});

it('what a process in trouble had taken before the account got dark does not count', () => {
  const times = new DarkTimes();
  times.strike('a', 'freeze');
  const taken = new Map([['a', { accounts: ['SIM-1'], atMs: 0 }]]);
  times.look(1_000, says({ b: ['SIM-1'] }), taken);
  times.look(1_200, says({}), taken);
  times.look(1_400, says({ c: ['SIM-1'] }), taken);
  expect(times.ended).toEqual([{ cause: 'moved by agreement', lastedMs: 400 }]);
});

it('an account that comes back at the same process was connected anew', () => {
  const times = new DarkTimes();
  times.look(0, says({ a: ['SIM-1'] }));
  times.look(200, says({ a: [] }));
  times.look(400, says({ a: ['SIM-1'] }));
  expect(times.ended).toEqual([{ cause: 'connected anew', lastedMs: 400 }]);
});

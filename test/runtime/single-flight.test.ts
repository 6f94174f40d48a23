import { expect, it } from 'vitest';
import { SingleFlight } from '../../src/runtime/waiting.ts';

it('runs the work once for all callers that come while it runs, and again for one that comes after', async () => {
  const flight = new SingleFlight<number>();
  let runs = 0;
  const work = async () => {
    runs += 1;
    await Promise.resolve();
    return runs;
  };
  expect(await Promise.all([flight.run(work), flight.run(work), flight.run(work)])).toEqual([1, 1, 1]);
  expect(await flight.run(work)).toBe(2);
});

it('shares a failure, and does not keep it', async () => {
  const flight = new SingleFlight<string>();
  const failing = async () => Promise.reject(new Error('down'));
  const both = await Promise.allSettled([flight.run(failing), flight.run(failing)]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await flight.run(async () => 'up')).toBe('up');
});

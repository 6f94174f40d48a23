import { expect, it } from 'vitest';
import { DeadlineError, withDeadline } from '../../src/runtime/waiting.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

const resultOf = (work: Promise<unknown>) => {
  const seen: { value?: unknown; error?: unknown } = {};
  work.then(
    (value) => {
      seen.value = value;
    },
    (error: unknown) => {
      seen.error = error;
    },
  );
  return seen;
};

it('gives the result of work that ends in time, and leaves no timer', async () => {
  const clock = new VirtualClock();
  expect(await withDeadline(clock, 100, 'reading', Promise.resolve('done'))).toBe('done');
  await clock.settle();
  expect(clock.armed).toBe(0);
});

it('gives the error of work that fails in time', async () => {
  const clock = new VirtualClock();
  await expect(withDeadline(clock, 100, 'reading', Promise.reject(new Error('no')))).rejects.toThrow('no');
});

it('names the work and the limit when it takes longer, as an error that may be tried again', async () => {
  const clock = new VirtualClock();
  const seen = resultOf(withDeadline(clock, 100, 'reading', new Promise(() => {})));
  await clock.advance(99);
  expect(seen.error).toBeUndefined();
  await clock.advance(1);
  expect(seen.error).toBeInstanceOf(DeadlineError);
  expect(seen.error).toMatchObject({ code: 'DEADLINE', retryable: true, message: 'reading took longer than 100 ms' });
});

it('ignores what late work comes to', async () => {
  const clock = new VirtualClock();
  const late = clock.sleep(500).then(() => Promise.reject(new Error('too late to matter')));
  const seen = resultOf(withDeadline(clock, 100, 'reading', late));
  await clock.advance(1000);
  expect(seen.error).toBeInstanceOf(DeadlineError);
});

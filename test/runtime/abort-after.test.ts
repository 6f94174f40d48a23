import { expect, it } from 'vitest';
import { abortAfter, DeadlineError } from '../../src/runtime/waiting.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

it('aborts at its time, or with one of the others, with the reason', async () => {
  const clock = new VirtualClock();
  const other = new AbortController();
  using late = abortAfter(clock, 100, 'the read', other.signal);
  using early = abortAfter(clock, 1_000, 'the read', other.signal);
  await clock.advance(100);
  expect([late.signal.aborted, early.signal.aborted]).toEqual([true, false]);
  expect(late.signal.reason).toBeInstanceOf(DeadlineError);
  other.abort('over');
  expect(early.signal.reason).toBe('over');
  using none = abortAfter(clock, 1_000, 'the read', other.signal);
  expect(none.signal.reason).toBe('over');
});

it('lets go of its timer and of the others', async () => {
  const clock = new VirtualClock();
  const other = new AbortController();
  const gone = abortAfter(clock, 100, 'the read', other.signal);
  gone[Symbol.dispose]();
  other.abort();
  await clock.advance(1_000);
  expect(gone.signal.aborted).toBe(false);
});

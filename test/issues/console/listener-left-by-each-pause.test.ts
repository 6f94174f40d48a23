// What a user saw: A console that stayed open for a week took a hundred megabytes more.

import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { pause } from '../../../src/console/state/ports.ts';

it('a wait that is over leaves nothing on its signal', async () => {
  const { signal } = new AbortController();
  const after = (ms: number, run: () => void) => {
    const timer = setTimeout(run, ms);
    return { cancel: () => clearTimeout(timer) };
  };
  for (let i = 0; i < 10; i += 1) await pause({ after }, 1, signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('an aborted one ends at once', async () => {
  const over = new AbortController();
  const waited = pause({ after: () => ({ cancel: () => undefined }) }, 1_000_000, over.signal);
  over.abort();
  await waited;
  expect(getEventListeners(over.signal, 'abort')).toEqual([]);
});

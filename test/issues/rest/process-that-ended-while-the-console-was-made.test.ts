// What a user saw: A service that was stopped some 3 s after its start sometimes ended with SIGABRT.

import { expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { ConsoleSite } from '../../../src/service/rest/console/console-site.ts';
import { testLog } from '../../support/runs/test-log.ts';

// A service that was stopped some 3 s after its start ended with SIGABRT, one time in a hundred:
// Node ends the worker, and cannot when that is about to compress.
it('the console stops only when its worker has ended', async () => {
  const site = new ConsoleSite({ fetch, clock: systemClock, log: testLog });
  let isMade = false;
  void site.site().then(() => {
    isMade = true;
  });
  await site.stop();
  expect(isMade).toBe(true);
});

it('a console that was never asked for stops at once, and is not made later', async () => {
  const timers: (() => void)[] = [];
  const clock = {
    ...systemClock,
    after: (_ms: number, run: () => void) => {
      timers.push(run);
      return { cancel: () => void timers.splice(timers.indexOf(run), 1) };
    },
  };
  const site = new ConsoleSite({ fetch, clock, log: testLog });
  site.start();
  expect(timers).toHaveLength(1);
  await site.stop();
  expect(timers).toEqual([]);
});

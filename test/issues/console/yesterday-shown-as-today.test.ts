// What a user saw: After midnight an open page showed yesterday's times as if they were today's.

import { expect, it } from 'vitest';
import { ConsoleRig } from '../../support/rest/console-rig.ts';

it('a new day is announced to the screens, once', async () => {
  const rig = new ConsoleRig();
  rig.nowMs = new Date(2026, 10, 21, 23, 59, 58).getTime();
  await rig.state.start();
  const days: string[] = [];
  rig.state.today.subscribe((day) => days.push(day));
  for (let second = 0; second < 4; second += 1) await rig.pass(1_000);
  expect(days).toEqual(['Sat Nov 21 2026', 'Sun Nov 22 2026']);
});

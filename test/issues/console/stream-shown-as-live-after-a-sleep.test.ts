// What a user saw: After a night the console showed the orders of the evening as live, for 40 seconds.

import { expect, it } from 'vitest';
import { sleeplessClock } from '../../../src/console/state/sleepless-clock.ts';
import { ConsoleRig, eventOf } from '../../support/rest/console-rig.ts';

const nightMs = 8 * 3_600_000;

it('connects again at its first beat after a sleep, and says how long it heard nothing', async () => {
  const rig = new ConsoleRig();
  await rig.state.start();
  await rig.settle();
  await rig.pass(1_000);
  await rig.streams[0]?.send(`id: 1\n\n${eventOf(2, { orderId: 'evening' })}`);
  await rig.pass(1_000);
  rig.sleep(nightMs);
  await rig.pass(1_000);
  expect(rig.state.pulse.value.silentMs).toBeGreaterThan(nightMs);
  expect(rig.state.stream.state.value).toEqual({ kind: 'waiting', why: 'the stream was silent' });
  await rig.pass(1_000);
  expect(rig.streams[1]?.lastEventId).toBe('2');
});

it('the clock of ages goes on in a sleep, and does not follow a clock that is set back or drifts', () => {
  let [awake, wall] = [0, 1_000_000];
  const clock = sleeplessClock(
    () => awake,
    () => wall,
  );
  const after = (awakeMs: number, wallMs: number) => {
    awake += awakeMs;
    wall += wallMs;
    return clock();
  };
  expect([after(1_000, 1_003), after(1_000, nightMs), after(1_000, -nightMs), after(1_000, 1_000)]).toEqual([
    1_000,
    nightMs + 1_000,
    nightMs + 2_000,
    nightMs + 3_000,
  ]);
});

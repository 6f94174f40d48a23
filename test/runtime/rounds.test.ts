import { expect, it } from 'vitest';
import { Rounds } from '../../src/runtime/rounds.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

it('does a round at once and one after each rest, never two at a time, and none after the end', async () => {
  const clock = new VirtualClock();
  let begun = 0;
  let underWay = 0;
  let most = 0;
  const round = async () => {
    begun += 1;
    underWay += 1;
    most = Math.max(most, underWay);
    await clock.sleep(30);
    underWay -= 1;
  };
  const rounds = new Rounds({ clock, round }, { name: 'a', everyMs: 100 });
  rounds.start();
  await clock.advance(10);
  expect(begun).toBe(1);
  await clock.advance(260);
  expect([begun, most]).toEqual([3, 1]);
  const ended = rounds.drain();
  await clock.advance(30);
  await ended;
  await clock.advance(1_000);
  expect([begun, underWay]).toEqual([3, 0]);
});

it('ends at once while it rests, and where it never began', async () => {
  const clock = new VirtualClock();
  const rounds = new Rounds({ clock, round: async () => {} }, { name: 'a', everyMs: 60_000 });
  await rounds.drain();
  const other = new Rounds({ clock, round: async () => {} }, { name: 'a', everyMs: 60_000 });
  other.start();
  await clock.advance(1);
  await other.drain();
  expect(clock.monotonicMs()).toBeLessThan(60_000);
});

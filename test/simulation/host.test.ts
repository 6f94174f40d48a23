import { expect, it } from 'vitest';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';
import { Host } from './host.ts';

function startProcess() {
  const world = new VirtualClock();
  const host = new Host('a', world);
  const seen: string[] = [];
  const ticking = (async () => {
    for (;;) {
      await host.clock.sleep(10);
      seen.push(`tick ${host.clock.monotonicMs()}`);
    }
  })();
  return { world, host, seen, ticking };
}

it('never runs another line after its crash', async () => {
  const { world, host, seen } = startProcess();
  const answer = host.answer(world.sleep(30)).then(() => seen.push('answered'));
  await world.advance(25);
  host.crash();
  await world.advance(1_000);
  expect(seen).toEqual(['tick 10', 'tick 20']);
  void answer;
});

it('stands still while frozen, and meets everything that waited at a time that has moved on', async () => {
  const { world, host, seen } = startProcess();
  void host.answer(world.sleep(15)).then(() => seen.push(`answered ${host.clock.monotonicMs()}`));
  await world.advance(12);
  host.freeze();
  await world.advance(88);
  expect(seen).toEqual(['tick 10']);
  host.thaw(seededRandom(1));
  await world.advance(9);
  expect(seen.toSorted()).toEqual(['answered 100', 'tick 10', 'tick 100']);
  expect(host.frozen).toBe(false);
});

it('counts the timers that it leaves behind', async () => {
  const { world, host } = startProcess();
  const timer = host.clock.after(50, () => undefined);
  expect(host.armed).toBe(2);
  timer.cancel();
  timer.cancel();
  expect(host.armed).toBe(1);
  await world.advance(10);
  expect(host.armed).toBe(1);
});

it('may set its wall clock wrong without time passing', () => {
  const { world, host } = startProcess();
  host.wallOffsetMs = 3_600_000;
  expect(host.clock.nowMs() - world.nowMs()).toBe(3_600_000);
  expect(host.clock.monotonicMs()).toBe(0);
});

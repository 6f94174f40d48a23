import { describe, expect, it } from 'vitest';
import { Pace, Window } from '../../../src/service/sources/window.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe('a window', () => {
  it('lets so many through at a time, in order, also when some of them fail', async () => {
    const gate = new Window(2);
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const all = Array.from({ length: 6 }, (_, i) =>
      gate.run(async () => {
        begun.push(i);
        await new Promise<void>((resolve) => ends.push(resolve));
        if (i % 2 === 1) throw new Error(`read ${i}`);
        return i;
      }),
    );
    const settled = Promise.allSettled(all);
    for (let i = 0; i < 6; i += 1) {
      await Promise.resolve();
      await new Promise(setImmediate);
      expect(begun).toEqual([0, 1, 2, 3, 4, 5].slice(0, Math.min(6, i + 2)));
      ends[i]?.();
    }
    expect((await settled).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
    ]);
    expect(await gate.run(async () => 'free again')).toBe('free again');
  });
});

it('a pace gives only its part of the turns, and follows when that changes', async () => {
  const clock = new VirtualClock();
  let part = 0.5;
  const pace = new Pace({ clock }, { everyMs: 100, part: () => part });
  const turnsIn = async (ms: number) => {
    const stop = new AbortController();
    let turns = 0;
    const taking = (async () => {
      for (;;) {
        await pace.turn(stop.signal);
        if (stop.signal.aborted) return;
        turns += 1;
      }
    })();
    await clock.advance(ms);
    stop.abort();
    await taking;
    return turns;
  };
  const half = await turnsIn(10_000);
  part = 1;
  const all = await turnsIn(10_000);
  part = 0;
  const least = await turnsIn(50_000);
  expect([half, all, least].map((turns) => Math.round(turns / 10))).toEqual([5, 10, 1]);
});

import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

describe('the virtual clock', () => {
  it('fires timers when they are due, those due together in the order in which they were armed', async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    for (const [name, ms] of [
      ['c', 30],
      ['a', 10],
      ['b1', 20],
      ['b2', 20],
      ['b3', 20],
    ] as const) {
      clock.after(ms, () => fired.push(`${name}@${clock.monotonicMs()}`));
    }
    await clock.advance(25);
    expect(fired).toEqual(['a@10', 'b1@20', 'b2@20', 'b3@20']);
    await clock.advance(5);
    expect([fired.at(-1), clock.monotonicMs(), clock.armed]).toEqual(['c@30', 30, 0]);
  });

  it('lets everything that a timer sets off run before the next one fires', async () => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    const worker = async () => {
      await clock.sleep(10);
      for (let i = 0; i < 50; i += 1) await Promise.resolve();
      seen.push('worker');
      await clock.sleep(0);
      seen.push(`then ${clock.monotonicMs()}`);
    };
    void worker();
    clock.after(11, () => seen.push('later'));
    await clock.advance(20);
    expect(seen).toEqual(['worker', 'then 10', 'later']);
  });

  it('never fires a cancelled timer, and forgets it', async () => {
    const clock = new VirtualClock();
    const timer = clock.after(5, () => expect.unreachable());
    timer.cancel();
    timer.cancel();
    expect(clock.armed).toBe(0);
    await clock.advance(10);
    const fired = clock.after(1, () => {});
    await clock.advance(1);
    fired.cancel();
    expect(clock.armed).toBe(0);
  });

  it('advances until something holds, and says when nothing more can happen', async () => {
    const clock = new VirtualClock();
    let count = 0;
    const again = () => {
      count += 1;
      if (count < 5) clock.after(100, again);
    };
    clock.after(100, again);
    expect(await clock.advanceUntil(() => count === 3, 1000)).toBe(true);
    expect(clock.monotonicMs()).toBe(300);
    expect(await clock.advanceUntil(() => count === 99, 10_000)).toBe(false);
    expect(count).toBe(5);
  });

  it('steps wall time without letting time pass', async () => {
    const clock = new VirtualClock(1000);
    await clock.advance(50);
    clock.stepWall(-500);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([550, 50]);
  });
});

describe('a loop that waits for nothing', () => {
  it.each([
    ['asks the time alone', async (clock: VirtualClock) => void clock.monotonicMs()],
    ['sleeps for no time', (clock: VirtualClock) => clock.sleep(0)],
    [
      'sleeps until a signal that has aborted',
      (clock: VirtualClock) => clock.sleep(clock.nowMs(), AbortSignal.abort()),
    ],
    ['takes turns', (clock: VirtualClock) => clock.turn()],
    ['sleeps for next to no time', (clock: VirtualClock) => clock.sleep(1e-6)],
    [
      'is told that its time is over, and goes on to a sleep',
      async (clock: VirtualClock) => {
        try {
          await clock.sleep(-clock.monotonicMs());
        } catch {
          await clock.sleep(0);
        }
      },
    ],
  ])('fails the test, and ends: it %s', async (_, turn) => {
    const clock = new VirtualClock();
    const loop = async () => {
      for (;;) await turn(clock);
    };
    loop().catch(() => undefined);
    await expect(clock.advance(10)).rejects.toThrow(/a loop that waits for nothing/);
    await expect(clock.advance(10)).rejects.toThrow(/a loop that waits for nothing/);
  });

  it('is none where each turn lets a millisecond pass', async () => {
    const clock = new VirtualClock();
    let turns = 0;
    const loop = async () => {
      for (; turns < 50_000; turns += 1) await clock.sleep(1);
    };
    void loop();
    await clock.advance(50_000);
    expect(turns).toBe(50_000);
  });

  it('ends the process where it never asks the clock, with a line that says where it is', async () => {
    const script = `
      import { VirtualClock } from '${new URL('virtual-clock.ts', import.meta.url).href}';
      const answersAtOnce = async () => { throw new Error('no token'); };
      const turnsWithoutWaiting = async () => { for (;;) await answersAtOnce().catch(() => undefined); };
      void turnsWithoutWaiting();
      await new VirtualClock().advance(10);`;
    const ended = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', script], {
      encoding: 'utf8',
    });
    expect(ended.signal).toBe('SIGKILL');
    expect(ended.stderr).toMatch(/a loop that waits for nothing[\s\S]*turnsWithoutWaiting/);
  });
});

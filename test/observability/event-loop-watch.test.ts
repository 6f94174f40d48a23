import { expect, it } from 'vitest';
import { EventLoopWatch } from '../../src/observability/event-loop-watch.ts';
import type { Timer } from '../../src/runtime/clock.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

const options = { sampleEveryMs: 500, lateMs: 1000, lateInARow: 3 };

/** Its timers fire late by `lagMs`, as they do when the loop is blocked. */
class LaggingClock extends VirtualClock {
  lagMs = 0;

  override after(delayMs: number, callback: () => void): Timer {
    return super.after(delayMs + this.lagMs, callback);
  }
}

it('is well while the loop turns in time, and one long pause does not change that', async () => {
  const clock = new LaggingClock();
  const watch = new EventLoopWatch({ clock }, options);
  watch.start();
  await clock.advance(2000);
  expect(watch.check()).toEqual({ ok: true, detail: 'event loop turns, worst lag since start 0 ms' });
  clock.lagMs = 5000;
  await clock.advance(5500);
  clock.lagMs = 0;
  await clock.advance(5500);
  expect(watch.check()).toEqual({ ok: true, detail: 'event loop turns, worst lag since start 5000 ms' });
});

it('is not well when the loop is late again and again, and recovers with it', async () => {
  const clock = new LaggingClock();
  clock.lagMs = 1001;
  const watch = new EventLoopWatch({ clock }, options);
  watch.start();
  await clock.advance(3 * 1501);
  expect(watch.check()).toEqual({
    ok: false,
    detail: 'event loop late 3 times in a row, worst lag since start 1001 ms',
  });
  clock.lagMs = 0;
  await clock.advance(2001);
  expect(watch.check().ok).toBe(true);
});

it('leaves no timer when it is stopped', async () => {
  const clock = new VirtualClock();
  const watch = new EventLoopWatch({ clock }, options);
  watch.start();
  await clock.advance(1200);
  watch.stop();
  expect(clock.armed).toBe(0);
});

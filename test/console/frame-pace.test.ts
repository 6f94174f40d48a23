import { expect, it } from 'vitest';
import { framePace } from '../../src/console/state/frame-pace.ts';

function start() {
  let nowMs = 1000;
  const timers: { ms: number; run: () => void }[] = [];
  const frames: (() => void)[] = [];
  const pace = framePace({
    monotonicMs: () => nowMs,
    after: (ms, run) => {
      timers.push({ ms, run });
      return { cancel: () => undefined };
    },
    next: (run) => frames.push(run),
  });
  /** Draws what was asked for: that takes `ms`. Returns how long the next frame waits. */
  const drawFor = (ms: number) => {
    for (const run of frames.splice(0)) run();
    nowMs += ms;
    for (const { run } of timers.splice(0)) run();
    pace(() => undefined);
    const [waits] = timers.splice(0);
    if (waits !== undefined) waits.run();
    return waits?.ms ?? 0;
  };
  return { pace, drawFor, pass: (ms: number) => (nowMs += ms), frames };
}

it('draws the next frame at once while frames are cheap to draw', () => {
  const { pace, pass, frames } = start();
  pace(() => undefined);
  expect(frames).toHaveLength(1);
  for (const run of frames.splice(0)) run();
  pass(4);
  pace(() => undefined);
  expect(frames).toHaveLength(1);
});

it('rests after a frame for as long as it took, and a quarter of a second at most', () => {
  const { pace, drawFor } = start();
  pace(() => undefined);
  expect([drawFor(40), drawFor(3), drawFor(5_000)]).toEqual([40, 3, 250]);
});

it('does not wait when the rest is over', () => {
  const { pace, drawFor, pass, frames } = start();
  pace(() => undefined);
  drawFor(40);
  pass(100);
  frames.splice(0);
  pace(() => undefined);
  expect(frames).toHaveLength(1);
});

import { expect, it } from 'vitest';
import { framesOf, type TraceEvent } from '../../bench/frame-trace.ts';

const event = (name: string, atMs: number, lastsMs: number, tid = 1): TraceEvent => ({
  ...{ name, ph: 'X', pid: 1, tid, ts: atMs * 1000, dur: lastsMs * 1000 },
});

it('adds up the script between two frames, each moment once, on the thread that draws', () => {
  const { frames, scriptMsP50, scriptMsHighest, intervalMsP50, shares } = framesOf([
    event('FireAnimationFrame', 0, 2),
    event('FunctionCall', 0.5, 1),
    event('FunctionCall', 5, 3),
    event('Layout', 9, 4),
    event('FunctionCall', 9, 7, 2),
    event('FireAnimationFrame', 20, 1),
    event('FireAnimationFrame', 40, 1),
  ]);
  expect([frames, intervalMsP50, scriptMsP50, scriptMsHighest]).toEqual([3, 20, 1, 5]);
  expect([shares['script'], shares['layout'], shares['style']]).toEqual([0.15, 0.1, 0]);
});

it('counts the time of the processor where the trace has it: a busy machine makes the page wait, not work', () => {
  const waited = { ...event('FireAnimationFrame', 0, 10), tdur: 1_000 };
  expect(framesOf([waited, event('FireAnimationFrame', 20, 1)]).scriptMsHighest).toBe(1);
});

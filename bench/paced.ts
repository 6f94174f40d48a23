import { systemClock } from '../src/runtime/clock.ts';

export interface Pace {
  readonly perSecond: number;
  readonly seconds: number;
}

/**
 * Starts one piece of work after the other at a fixed rate, whether the one before has ended or
 * not: a slow answer delays nobody's start, so that it cannot hide behind its own slowness.
 * Resolves when all have ended. `dueMs` (of `performance.now`) is when it had to start: what
 * latency is counted from.
 */
export async function paced(
  { perSecond, seconds }: Pace,
  work: (index: number, dueMs: number) => Promise<void>,
): Promise<void> {
  const count = Math.round(perSecond * seconds);
  const everyMs = 1000 / perSecond;
  const startMs = performance.now();
  const running: Promise<void>[] = [];
  for (let index = 0; index < count; index += 1) {
    const dueMs = startMs + index * everyMs;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await systemClock.sleep(waitMs);
    running.push(work(index, dueMs));
  }
  await Promise.all(running);
}

import { systemClock } from '../../src/runtime/clock.ts';

interface EventuallyOptions {
  /** How long to try; a bound against hanging, not a measure. Default 60 s. */
  readonly deadlineMs?: number;
  /** Default 10 ms. */
  readonly everyMs?: number;
  /** True for an error that no waiting fixes: it is thrown at once. */
  readonly giveUp?: (error: unknown) => boolean;
}

/** Runs `attempt` until it stops throwing, and resolves with what it returned; after the deadline rejects with its last error. */
export async function eventually<T>(attempt: () => T | Promise<T>, options: EventuallyOptions = {}): Promise<T> {
  const { deadlineMs = 60_000, everyMs = 10, giveUp = () => false } = options;
  const deadline = systemClock.monotonicMs() + deadlineMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (giveUp(error) || systemClock.monotonicMs() >= deadline) throw error;
    }
    await systemClock.sleep(everyMs);
  }
}

import { systemClock } from '../../src/runtime/clock.ts';

export interface EventuallyOptions {
  /** How long to try; a bound against hanging, not a measure. Default 20 s. */
  readonly deadlineMs?: number;
  /** Default 10 ms. */
  readonly everyMs?: number;
}

/** Runs `attempt` until it stops throwing, and resolves with what it returned; after the deadline rejects with its last error. */
export async function eventually<T>(attempt: () => T | Promise<T>, options: EventuallyOptions = {}): Promise<T> {
  const { deadlineMs = 20_000, everyMs = 10 } = options;
  const deadline = systemClock.monotonicMs() + deadlineMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (systemClock.monotonicMs() >= deadline) throw error;
    }
    await systemClock.sleep(everyMs);
  }
}

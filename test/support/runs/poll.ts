import { systemClock } from '../../../src/runtime/clock.ts';

interface EventuallyOptions {
  /** How long to try; a bound against hanging, not a measure. Default 60 s. */
  readonly deadlineMs?: number;
  /** The shortest pause between two attempts. Default 10 ms. */
  readonly everyMs?: number;
  /** True for an error that no waiting fixes: it is thrown at once. */
  readonly giveUp?: (error: unknown) => boolean;
}

/**
 * An attempt may cost the service under test 5 ms (`/metrics`): one every 10 ms over many seconds
 * takes the processor from what it waits for.
 */
const longestPauseMs = 100;

/**
 * Runs `attempt` until it stops throwing, and resolves with what it returned; after the deadline
 * rejects with its last error. The pause between two attempts grows to a tenth of the time waited
 * so far, and not above 100 ms.
 */
export async function eventually<T>(attempt: () => T | Promise<T>, options: EventuallyOptions = {}): Promise<T> {
  const { deadlineMs = 60_000, everyMs = 10, giveUp = () => false } = options;
  const startedMs = systemClock.monotonicMs();
  for (;;) {
    let waitedMs: number;
    try {
      return await attempt();
    } catch (error) {
      waitedMs = systemClock.monotonicMs() - startedMs;
      if (giveUp(error) || waitedMs >= deadlineMs) throw error;
    }
    await systemClock.sleep(Math.max(everyMs, Math.min(waitedMs / 10, longestPauseMs)));
  }
}

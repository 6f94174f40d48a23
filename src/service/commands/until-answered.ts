import type { Backoff } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';

interface Asking {
  readonly clock: Clock;
  /** Between two tries. */
  readonly backoff: Backoff;
  /** Aborted: no further try. */
  readonly over: AbortSignal;
  /** Gets the first failure: an outage of an hour is one line in the log. */
  readonly onFailure?: (error: unknown) => void;
}

/**
 * Asks the journal until it answers, at least once. Undefined:
 * `over` came before an answer. Never rejects.
 *
 * Only for questions that may be asked twice: a write whose answer was lost may have been done.
 */
export async function untilAnswered<T>(ask: () => Promise<T>, asking: Asking): Promise<T | undefined> {
  const { clock, backoff, over } = asking;
  let { onFailure } = asking;
  do {
    try {
      return await ask();
    } catch (error) {
      onFailure?.(error);
      onFailure = undefined;
      await clock.sleep(backoff.nextMs(), over);
    }
  } while (!over.aborted);
  return undefined;
}

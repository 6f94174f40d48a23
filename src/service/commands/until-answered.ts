import { Backoff, type BackoffOptions } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';

interface Asking {
  /** Between two tries. */
  readonly journalBackoff: BackoffOptions;
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
export async function untilAnswered<T>(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  ask: () => Promise<T>,
  { journalBackoff, over, onFailure }: Asking,
): Promise<T | undefined> {
  const backoff = new Backoff(random, journalBackoff);
  let report = onFailure;
  do {
    try {
      return await ask();
    } catch (error) {
      report?.(error);
      report = undefined;
      await clock.sleep(backoff.nextMs(), over);
    }
  } while (!over.aborted);
  return undefined;
}

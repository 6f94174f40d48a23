import { Backoff } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { isTransient } from './sqlstate.ts';

export interface RetryDeps {
  readonly clock: Clock;
  readonly random: Random;
}

export interface RetryOptions {
  /** No new try begins later than this. Each try has the deadlines of its connection besides. */
  readonly forMs?: number;
}

/**
 * Runs a whole transaction (or a single statement) again while it fails with what is likely to pass: see `isTransient`. A try whose answer was lost may have
 * committed, so the work must be harmless when done twice. Rejects with the last error.
 *
 * Not for `apply_batch`: there a lost answer needs a verdict, and its caller decides.
 */
export async function retryTransaction<T>(deps: RetryDeps, work: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const backoff = new Backoff(deps.random, { firstMs: 20, maxMs: 500 });
  const lastStartMs = deps.clock.monotonicMs() + (options.forMs ?? 2_000);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || deps.clock.monotonicMs() >= lastStartMs) throw error;
      await deps.clock.sleep(backoff.nextMs());
    }
  }
}

import { PublishError, type Publisher, type PublishRow } from '../../relay/publisher.ts';
import type { Backoff } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';

export interface PatientDeps {
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly backoff: Backoff;
  readonly signal: AbortSignal;
  /** Called for the first failure of each row of failures. */
  readonly onTrouble: (error: PublishError) => void;
}

/** A restart of a broker, or a new election, is over by then. */
const patienceMs = 120_000;

/** What another try can't mend: somebody has to do something. */
const final: ReadonlySet<string> = new Set(['too_large', 'unauthorized', 'unknown_topic', 'wrong_partitions']);

/**
 * Publishes, and goes on trying while Kafka is away for a moment: what a failed try wrote all the same is repeated, which readers drop by its revision. Rejects with the publisher's
 * error when that is final, when it has lasted for two minutes, or when the signal aborts.
 */
export async function publishPatiently(deps: PatientDeps, rows: readonly PublishRow[]): Promise<void> {
  const { publisher, clock, backoff, signal, onTrouble } = deps;
  const startedMs = clock.monotonicMs();
  for (let failures = 0; ; failures += 1) {
    try {
      await publisher.publish(rows);
      backoff.reset();
      return;
    } catch (error) {
      const passing = error instanceof PublishError && !final.has(error.code);
      if (!passing || signal.aborted || clock.monotonicMs() - startedMs > patienceMs) throw error;
      if (failures === 0) onTrouble(error);
      await clock.sleep(backoff.nextMs(), signal);
    }
  }
}

import type { LogRow } from '../../domain/committed-batch.ts';

/**
 * One record for a log topic: a row of the log of updates, a
 * step of a command, or the witness of a lane.
 */
export interface PublishRow {
  readonly topic: LogRow['topic'] | 'outcomes' | 'witness';
  readonly key: string;
  readonly payload: string;
  /** Header of the record, where it is traced (docs/tracing.md). */
  readonly traceparent?: string;
}

/**
 * Kafka did not acknowledge, or we can't know whether it did. Sending again is always right:
 * readers drop repeats by revision.
 */
export class PublishError extends Error {
  readonly retryable = true;
  /**
   * Short and stable, for logs and a metric label: `timeout`, `not_leader`, `missing_ack`,
   * `connection`, `unavailable`, `too_large`, `wrong_partitions` …
   */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PublishError';
    this.code = code;
  }
}

/** The log topics, at least once, in order. */
export interface Publisher {
  /**
   * Resolves once every in-sync replica has every row; rows of one key keep their order. Any number
   * of rows: they leave in pieces of at most 1,000 rows and 900 kB, each once the one before is
   * acknowledged. At most one call at a time.
   * Rejects with `PublishError` after any error or its own deadline; the records may or may not
   * have arrived. The next call starts with a new producer (a retired one is never used again).
   * `mayAct` is asked before each piece except the first: a process that was frozen between two of
   * them may have lost the lane; then the code is `lease`.
   */
  publish(rows: readonly PublishRow[], mayAct?: () => boolean): Promise<void>;
  close(): Promise<void>;
}

/**
 * The compacted state topic: a late repeat would do damage there, so every
 * flush is one transaction of the only writer.
 */
export interface StatePublisher {
  /**
   * Takes over as the only writer; every older one is fenced from then on. Called before the first
   * flush of a term, and again before the first one after any rejection: the caller must be sure at
   * that moment that it still holds the lane.
   */
  takeOver(): Promise<void>;
  /**
   * One transaction with all rows, with at most 1,000 rows and 900 kB in each send. Rejects with
   * `PublishError`; code `fenced` means that a newer writer took over.
   */
  flush(rows: readonly LogRow[]): Promise<void>;
  close(): Promise<void>;
}

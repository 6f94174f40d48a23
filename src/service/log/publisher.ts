import type { LogRow } from '../../domain/committed-batch.ts';

/**
 * One record for a log topic: a row from the log of updates, a command's step, or a lane's
 * checkpoint.
 */
export interface PublishRow {
  readonly topic: LogRow['topic'] | 'results' | 'checkpoint';
  readonly key: string;
  readonly payload: string;
  /** The record's header, if it is traced (docs/tracing.md). */
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

/** Kafka must have this no later than the rows of its send. */
export interface SentAlong {
  /** Goes to each broker in one request with its rows. */
  readonly row: PublishRow;
  /** It has to be sent alone, and be on Kafka first. */
  readonly alone: boolean;
  /** Sends it alone, and resolves once Kafka has it. Also for a send unable to take it along. */
  before(): Promise<void>;
  /** Kafka has acknowledged `row` with the rows. */
  carried(): void;
}

/** The log topics, at least once, in order. */
export interface Publisher {
  /**
   * Resolves once every in-sync replica has every row; one key's rows keep their order. Any number
   * of rows: they leave in pieces of at most 1,000 rows and 900 kB, each once the one before is
   * acknowledged, and in smaller ones where a topic takes less: `too_large` is about one row. At
   * most one call at a time. Rejects with `PublishError` after any error or its own deadline; the
   * records may or may not have arrived. The next call starts with a new producer (a retired one is
   * never used again), and leaves out the rows this one had acknowledged. `mayAct` is asked before
   * each piece, also the first, which may have waited for a connection: by then the lane may be
   * lost; then the code is `lease`. `along` is on Kafka before each piece, or with it.
   */
  publish(rows: readonly PublishRow[], mayAct?: () => boolean, along?: SentAlong): Promise<void>;
  close(): Promise<void>;
}

/**
 * The compacted state topic. A late repeat would do damage there, so every flush is one transaction
 * by the only writer.
 */
export interface StatePublisher {
  /**
   * Takes over as the only writer; every older one is fenced from then on. Called before a term's
   * first flush, and again before the first one after any rejection: at that moment the caller must
   * be sure that it still holds the lane.
   */
  takeOver(): Promise<void>;
  /**
   * One transaction with all rows, with at most 1,000 rows and 900 kB in each send. Rejects with
   * `PublishError`; code `fenced` means that a newer writer took over.
   */
  flush(rows: readonly LogRow[]): Promise<void>;
  close(): Promise<void>;
}

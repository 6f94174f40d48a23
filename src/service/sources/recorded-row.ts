import type { Cause } from '../../domain/observation.ts';
import type { Stream } from '../../domain/order.ts';

/** A row as it came, and the facts that decided about it: a line of a recording. */
export interface RecordedRow {
  readonly stream: Stream;
  readonly cause: Cause;
  /** Wall time of arrival, milliseconds since the epoch. */
  readonly observedAtMs: number;
  /** The whole frame for the cause `stream`, else the row, as JSON. */
  readonly text: string;
  /** Left out: the frame could not be read so far as to name one. */
  readonly accountId?: string;
  readonly sourceEpoch?: number;
  /** A second complete read agreed: it may lower a quantity, or take back an end. */
  readonly confirmed?: true;
  /** No part of it went to ingest. */
  readonly withheld?: true;
}

/** A step of a command, as it goes to Kafka. */
export interface OutcomeRow {
  readonly id: bigint;
  /** The command's id: its steps share a partition. */
  readonly key: string;
  /** JSON text; its `eventId` names command and version, by which readers drop repeats. */
  readonly payload: string;
  /** When the step committed, milliseconds since the epoch, by the database's clock. */
  readonly recordedMs: number;
}

/** The outbox of the command side. Every call has a deadline; rejects when the database can't be reached. */
export interface OutcomeLog {
  /** Steps that are not marked as published, lowest id first, at most `limit`. Of one command the ids rise with its versions, and none is seen before its predecessor. */
  readUnpublished(limit: number): Promise<OutcomeRow[]>;
  /** Kafka has acknowledged them. Safe to call again, by any process: it stays true. */
  markPublished(ids: readonly bigint[]): Promise<void>;
}

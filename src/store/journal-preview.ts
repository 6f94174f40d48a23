import type { LimitReading } from '../domain/limits.ts';

/** What `open` would say of a place or replace just now, in its order. */
export interface JournalPreview {
  readonly callerRefReused: boolean;
  readonly notSuperseded: boolean;
  /** Every limit that applies, in the order in which they are judged. */
  readonly limits: readonly LimitReading[];
}

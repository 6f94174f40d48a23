import type { PlatformError } from '../platform/platform-error.ts';

/**
 * `resync`: as fast as it goes, before an account is live. `audit`: in the background, at a low rate. `complete`: every order there is, whatever was read
 * before (a lost store).
 */
export type ReadKind = 'resync' | 'audit' | 'complete';

export type ReadOutcome =
  | { readonly complete: true; readonly rows: number }
  | { readonly complete: false; readonly error: PlatformError };

/** What one read has seen so far. */
export interface ReadProgress {
  readonly kind: ReadKind;
  /** Wall time, milliseconds since the epoch. */
  readonly startedMs: number;
  readonly signal: AbortSignal;
  /** Orders that were shown and are not terminal: what is shown terminal goes through ingest and is open no more. */
  readonly shownOpen: Set<string>;
  rows: number;
  highest: string | undefined;
}

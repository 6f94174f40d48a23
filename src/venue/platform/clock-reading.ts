import type { HttpResult } from '../http.ts';

/** One question's result about two clocks. Milliseconds. */
export interface ClockReading {
  /** Ours less theirs: above zero, ours is ahead. */
  readonly aheadMs: number;
  /**
   * The difference may be larger or smaller by so much: half the question's time, and their clock's
   * unit.
   */
  readonly uncertainMs: number;
}

/**
 * Their time, as it was somewhere between the question and the answer. `tookMs` comes from the
 * monotonic clock, so a step of our clock meanwhile does not count as a slow answer.
 */
export function clockReading(endedMs: number, tookMs: number, theirsMs: number, unitMs = 0): ClockReading {
  return { aheadMs: endedMs - tookMs / 2 - (theirsMs + unitMs / 2), uncertainMs: tookMs / 2 + unitMs / 2 };
}

/**
 * By any answer's `Date` header (whole seconds); undefined: it has none, or is a copy from a cache
 * (`Age`).
 */
export function readingOf(result: HttpResult, endedMs: number, tookMs: number): ClockReading | undefined {
  if (result.kind === 'failed' || result.headers['age'] !== undefined) return undefined;
  const theirsMs = Date.parse(result.headers['date'] ?? '');
  return Number.isNaN(theirsMs) ? undefined : clockReading(endedMs, tookMs, theirsMs, 1_000);
}

/**
 * From this difference on tokens are renewed at the wrong time, and the times in records mislead
 * people.
 */
export const harmfulSkewMs = 30_000;

/** `7200.0 s ahead of the platform`. */
export function skewWords({ aheadMs }: ClockReading, of: string): string {
  return `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ${of}`;
}

/**
 * Why an order may be other than we have it, and how it is asked for then. Each reason closes in
 * its own way, so each has its own class (docs/decisions/065-five-reasons-to-ask.md). They share
 * only this: who goes first, and how long an order rests between two looks.
 * - `command`: a command waits for its result. Its budget says when it is asked.
 * - `frame`: its frame could not be read (`Unrecovered`).
 * - `silent`: we hold it open, and a list did not show it, or something happened to it
 *   (`askAfterSilent`). Its rests are counted in audits (`SilencePace`).
 * - `absent`: we hold it open, and the platform does not know it (`AbsentOrders`).
 * - `doubt`: a row contradicts what we have (`Doubts`).
 */
export type Question = 'command' | 'frame' | 'silent' | 'absent' | 'doubt';

interface Pace {
  /** 0 goes first. */
  readonly urgency: number;
  /** Doubled after each look that closed nothing, up to the longest. In the unit. */
  readonly firstRest: number;
  readonly longestRest: number;
  readonly unit: 'ms' | 'audit';
}

// biome-ignore format: a table
export const questions: Readonly<Record<Question, Pace>> = {
  command: { urgency: 0, firstRest: 0,      longestRest: 0,         unit: 'ms' },
  frame:   { urgency: 1, firstRest: 500,    longestRest: 300_000,   unit: 'ms' },
  silent:  { urgency: 2, firstRest: 2,      longestRest: 60,        unit: 'audit' },
  absent:  { urgency: 2, firstRest: 60_000, longestRest: 3_600_000, unit: 'ms' },
  doubt:   { urgency: 3, firstRest: 5_000,  longestRest: 5_000,     unit: 'ms' },
};

/** The rest after `looks` of them have closed nothing, and one more has not either. */
export function restAfter(question: Question, looks: number): number {
  const { firstRest, longestRest } = questions[question];
  return Math.min(firstRest * 2 ** looks, longestRest);
}

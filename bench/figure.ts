import type { Build } from './build.ts';
import type { Cleanup } from './cleanup.ts';
import type { RealRows } from './real-rows.ts';
import type { Stack } from './stack.ts';

/** One number of a measure. */
export interface Figure {
  /** The same in each turn, and of no other figure of the run. */
  readonly name: string;
  readonly value: number;
  /** What it is held to (docs/performance.md), where it is. */
  readonly atLeast?: number;
  readonly atMost?: number;
  /** For people: of this turn alone. */
  readonly note?: string;
}

/** What a measure works with. */
export interface Bench {
  readonly cleanup: Cleanup;
  readonly stack: Stack;
  /** Whose service is measured. */
  readonly build: Build;
  /** How long the highest rate has to be kept up, and each bare path; others at most so long. */
  readonly seconds: number;
  /** Rows that a service of this checkout wrote, for the bare paths to write again. */
  readonly real: RealRows;
}

export type Measure = (bench: Bench) => Promise<readonly Figure[]>;

/** The mean of each figure over the turns, in the order in which they first came. */
export function meanFigures(turns: readonly (readonly Figure[])[]): Figure[] {
  const byName = new Map<string, Figure[]>();
  for (const figure of turns.flat()) byName.set(figure.name, [...(byName.get(figure.name) ?? []), figure]);
  return [...byName.values()].map((same) => {
    const notes = same.flatMap(({ note }) => (note === undefined ? [] : [note]));
    const values = same.length > 1 ? [same.map(({ value }) => rounded(value)).join(' and ')] : [];
    const note = [...values, ...notes].join('; ');
    const value = same.reduce((sum, figure) => sum + figure.value, 0) / same.length;
    return { ...(same[0] as Figure), value, ...(note === '' ? {} : { note }) };
  });
}

/** Undefined where it is held to nothing. */
export function isMet({ value, atLeast, atMost }: Figure): boolean | undefined {
  if (atLeast === undefined && atMost === undefined) return undefined;
  return value >= (atLeast ?? Number.NEGATIVE_INFINITY) && value <= (atMost ?? Number.POSITIVE_INFINITY);
}

/** Whole from a thousand on, one digit from a hundred on, else two. */
export function rounded(value: number): number {
  const digits = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : 2;
  return Number(value.toFixed(digits));
}

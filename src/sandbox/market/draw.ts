import type { Random } from '../../runtime/random.ts';

/** A whole number from 0 to `count` − 1. */
export function below(random: Random, count: number): number {
  return Math.floor(random.next() * count);
}

/** One of a list that is not empty. */
export function oneOf<T>(random: Random, choices: readonly T[]): T {
  return choices[below(random, choices.length)] as T;
}

/** True with the given probability. */
export function happens(random: Random, probability: number): boolean {
  return random.next() < probability;
}

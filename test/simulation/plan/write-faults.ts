import type { Random } from '../../../src/runtime/random.ts';
import { happens, oneOf } from '../../../src/sandbox/market/instruments.ts';

/** What becomes of writes of orders, as probabilities a write. */
export interface WriteFaults {
  /** No connection. */
  readonly connect: number;
  /** The line breaks before a byte of the request has moved. */
  readonly unsent: number;
  /** The bytes leave, and nothing of them ever arrives. */
  readonly lost: number;
  /**
   * It arrives, and the answer is none, or not what it should be;
   * whether it is done is drawn beside.
   */
  readonly spoiled: number;
  /** Of the spoiled: done at once, done late, else never. */
  readonly done: number;
  readonly late: number;
  /** A late one is done after this many milliseconds at most. */
  readonly lateMs: number;
  /** Prediction order entry says that nothing was sent, and keeps its word. */
  readonly notSent: number;
  /** Up to four seconds each way. */
  readonly slow: number;
}

export const noWriteFaults: WriteFaults = {
  connect: 0,
  unsent: 0,
  lost: 0,
  spoiled: 0,
  done: 1,
  late: 0,
  lateMs: 0,
  notSent: 0,
  slow: 0,
};

export function drawWriteFaults(random: Random, chosen: (probability: number) => boolean): WriteFaults {
  const upTo = (most: number) => (chosen(0.5) ? random.next() * most : 0);
  return {
    connect: upTo(0.2),
    unsent: upTo(0.1),
    lost: upTo(0.15),
    spoiled: happens(random, 0.7) ? random.next() * 0.7 : 0,
    done: random.next() * 0.7,
    late: random.next() * 0.5,
    lateMs: oneOf(random, [2_000, 15_000, 60_000]),
    notSent: upTo(0.3),
    slow: upTo(0.3),
  };
}

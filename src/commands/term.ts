import type { Fence } from './command-journal.ts';

/** One hold of the lane. What was begun under it ends with it: every wait listens to `over`, and every write of the journal carries `fence`. */
export interface Term {
  readonly fence: Fence;
  readonly over: AbortSignal;
}

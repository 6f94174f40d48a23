import type { Position } from './position.ts';
import type { Seam } from './seam.ts';

/** One hold on the lane, from taken to lost. Its state is dropped with it: a new term trusts nothing but the log. */
export interface RelayTerm {
  readonly seam: Seam;
  readonly position: Position;
  /** Aborted when the lane is lost or the relay gives up: every wait of the term ends. */
  readonly over: AbortController;
}

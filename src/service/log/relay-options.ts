import type { BackoffOptions } from '../../runtime/backoff.ts';
import type { Handoff, HandoffLimits } from './handoff.ts';
import type { Position } from './position.ts';
import { type StateWriter, type StateWriterOptions, stateWriterDefaults } from './state-writer.ts';

export interface RelayOptions extends HandoffLimits {
  /** Rows in one read of the log, and in one publish. */
  readonly maxRows: number;
  /**
   * The approximate number of payload characters in one read of the log: reads become smaller until
   * they keep to it.
   */
  readonly maxReadBytes: number;
  /** Payload characters in one publish; a single batch may exceed it (the publisher splits). */
  readonly maxBytes: number;
  readonly saveEveryMs: number;
  /**
   * How often the database is asked for the size of a backlog. A batch that was committed but never
   * handed over waits no longer than this.
   */
  readonly sweepEveryMs: number;
  /** How often a lease that is too old to act on is checked again. */
  readonly leasePollMs: number;
  readonly backoff: BackoffOptions;
  readonly states: StateWriterOptions;
}

/**
 * 32 MB held is about 1.3 s at the highest rate measured: longer than any send that succeeds, and
 * little compared with the process's 400 MB.
 */
export const relayDefaults: RelayOptions = {
  maxRows: 1000,
  maxReadBytes: 8_000_000,
  maxBytes: 900_000,
  maxHeldBatches: 1000,
  maxHeldBytes: 32_000_000,
  saveEveryMs: 250,
  sweepEveryMs: 5000,
  leasePollMs: 50,
  backoff: { firstMs: 50, maxMs: 1000 },
  states: stateWriterDefaults,
};

/**
 * One hold on the lane, from taken to lost. Its state is dropped with it: a new term trusts only
 * the log.
 */
export interface RelayTerm {
  readonly handoff: Handoff;
  readonly position: Position;
  readonly states: StateWriter;
  /** Aborted when the lane is lost or the relay gives up: every wait of the term ends. */
  readonly over: AbortController;
}

import type { Handoff } from './handoff.ts';
import type { Position } from './position.ts';
import { type StateWriter, stateWriterDefaults } from './state-writer.ts';

/**
 * 32 MB held is about 1.3 s at the highest rate measured: longer than any send that succeeds, and
 * little compared with the process's 400 MB.
 */
export const relayDefaults = {
  /** Rows in one read of the log, and in one publish. */
  maxRows: 1000,
  /**
   * The approximate number of payload characters in one read of the log: reads become smaller until
   * they keep to it.
   */
  maxReadBytes: 8_000_000,
  /** Payload characters in one publish; a single batch may exceed it (the publisher splits). */
  maxBytes: 900_000,
  maxHeldBatches: 1000,
  /** Payload characters. */
  maxHeldBytes: 32_000_000,
  saveEveryMs: 250,
  /**
   * How often the database is asked for the size of a backlog. A batch that was committed but never
   * handed over waits no longer than this.
   */
  sweepEveryMs: 5000,
  /** How often a lease that is too old to act on is checked again. */
  leasePollMs: 50,
  backoff: { firstMs: 50, maxMs: 1000 },
  states: stateWriterDefaults,
};

export type RelayOptions = Readonly<typeof relayDefaults>;

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

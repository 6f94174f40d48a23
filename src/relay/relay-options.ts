import type { BackoffOptions } from '../runtime/backoff.ts';
import type { SeamLimits } from './seam.ts';

export interface RelayOptions extends SeamLimits {
  readonly lane: number;
  /** Rows in one read of the log, and in one publish. */
  readonly maxRows: number;
  /** Payload characters in one read of the log, about: reads grow smaller until they keep to it. */
  readonly maxReadBytes: number;
  /** Payload characters in one publish; a single batch may pass it (the publisher splits). */
  readonly maxBytes: number;
  readonly saveEveryMs: number;
  /** How often the database is asked for the pending rows. Also the longest that a batch which was committed but never handed over can wait. */
  readonly sweepEveryMs: number;
  /** How often a lease that is too old to act on is looked at again. */
  readonly leasePollMs: number;
  readonly backoff: BackoffOptions;
}

/** 32 MB held is about 1.3 s of the highest rate measured: more than any send that is going to succeed takes, little beside the process's 400 MB. */
export const relayDefaults: Omit<RelayOptions, 'lane'> = {
  maxRows: 1000,
  maxReadBytes: 8_000_000,
  maxBytes: 900_000,
  maxHeldBatches: 1000,
  maxHeldBytes: 32_000_000,
  saveEveryMs: 250,
  sweepEveryMs: 5000,
  leasePollMs: 50,
  backoff: { firstMs: 50, maxMs: 1000 },
};

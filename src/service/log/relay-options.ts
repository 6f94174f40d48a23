import type { Log } from '../../observability/log.ts';
import type { BackoffOptions } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Handoff, HandoffLimits } from './handoff.ts';
import type { Position } from './position.ts';

export interface RelayOptions extends HandoffLimits {
  /** Rows in one read of the log, and in one publish. */
  readonly maxRows: number;
  /**
   * Approximate number of payload characters in one read of the log:
   * reads become smaller until they keep to it.
   */
  readonly maxReadBytes: number;
  /** Payload characters in one publish; a single batch may exceed it (the publisher splits). */
  readonly maxBytes: number;
  readonly saveEveryMs: number;
  /**
   * How often the database is asked for the pending rows. Also the longest wait of a batch that was
   * committed but never handed over.
   */
  readonly sweepEveryMs: number;
  /** How often a lease that is too old to act on is checked again. */
  readonly leasePollMs: number;
  readonly backoff: BackoffOptions;
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
};

/**
 * One hold on the lane, from taken to lost. Its state is dropped
 * with it: a new term trusts only the log.
 */
export interface RelayTerm {
  readonly handoff: Handoff;
  readonly position: Position;
  /** Aborted when the lane is lost or the relay gives up: every wait of the term ends. */
  readonly over: AbortController;
}

/**
 * Logs one line when something begins to fail, and one with the count when it works again: a broker
 * that is down for an hour causes two lines, not thousands.
 */
export class TroubleLog {
  private failures = 0;
  private sinceMs = 0;
  private lastCode: unknown;
  private readonly deps: { readonly logger: Log; readonly clock: Clock };
  private readonly doing: string;

  constructor(deps: { readonly logger: Log; readonly clock: Clock }, doing: string) {
    this.deps = deps;
    this.doing = doing;
  }

  happened(err: unknown): void {
    const code = err instanceof Error && 'code' in err ? err.code : undefined;
    if (this.failures === 0) this.sinceMs = this.deps.clock.monotonicMs();
    // Another reason is logged too: a broker that came back may answer that a record is too large.
    if (this.failures === 0 || code !== this.lastCode) {
      // An error with a code is expected sooner or later, and its stack
      // leads into a library: the message is enough.
      const what = typeof code === 'string' && err instanceof Error ? { code, reason: err.message } : { err };
      this.deps.logger.warn(what, `${this.doing} failed; trying again`);
    }
    this.lastCode = code;
    this.failures += 1;
  }

  passed(): void {
    if (this.failures === 0) return;
    const forMs = Math.round(this.deps.clock.monotonicMs() - this.sinceMs);
    this.deps.logger.info({ failures: this.failures, forMs }, `${this.doing} works again`);
    this.failures = 0;
  }
}

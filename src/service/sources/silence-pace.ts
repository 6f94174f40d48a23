import type { Clock } from '../../runtime/clock.ts';
import { restAfter } from './questions.ts';

/** In intervals between two audits: one comes up to a sixth early, and takes some time itself. */
const early = 0.25;

/**
 * Which audits ask for silent orders: we hold them open, and the lists did not show them. If such
 * an order changes, each audit's list has it; only a wrong list hides it. So a connection's first
 * audit asks, and then one after 2, 4, 8 … intervals, up to an hour. Asked for by each audit,
 * 20,000 resting orders were 20,000 rows a minute. An order the stream lost, or no room could
 * remember as absent, begins it anew.
 */
export class SilencePace {
  /** Audits that asked since it began. */
  private asks = 0;
  private nextMs = Number.NEGATIVE_INFINITY;
  private readonly clock: Clock;
  private readonly auditMs: number;

  constructor(deps: { clock: Clock }, options: { auditMs: number }) {
    this.clock = deps.clock;
    this.auditMs = options.auditMs;
  }

  get isDue(): boolean {
    return this.clock.monotonicMs() >= this.nextMs;
  }

  /** An audit that began at `beganMs`, monotonic, has asked for all of them. */
  asked(beganMs: number): void {
    this.nextMs = beganMs + (restAfter('silent', this.asks) - early) * this.auditMs;
    this.asks += 1;
  }

  /** The next audit asks. */
  beginAnew(): void {
    this.asks = 0;
    this.nextMs = Number.NEGATIVE_INFINITY;
  }
}

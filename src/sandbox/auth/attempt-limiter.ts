import type { Clock } from '../../runtime/clock.ts';

export interface AttemptLimits {
  /** Wrong answers that may come at once. */
  readonly burst: number;
  /** After them, one more in each of these. */
  readonly everyMs: number;
}

const maxKept = 50_000;

/**
 * A bound on guessing: of passwords and MFA codes, by the name that is guessed for, whether it exists or not (RFC 6749, section 10.10).
 *
 * Invariant: in any time `t` at most `burst + t / everyMs` wrong answers are looked at for one name. A right answer clears the name.
 */
export class AttemptLimiter {
  /** When the name's wrong answers are forgiven, each of them adding `everyMs`. */
  private readonly owedUntilMs = new Map<string, number>();
  private readonly clock: Clock;
  private readonly limits: AttemptLimits;

  constructor(deps: { clock: Clock }, limits: AttemptLimits) {
    this.clock = deps.clock;
    this.limits = limits;
  }

  /** Milliseconds until another answer is looked at; 0 means now. */
  waitMs(name: string): number {
    const { burst, everyMs } = this.limits;
    const owedMs = (this.owedUntilMs.get(name) ?? 0) - this.clock.monotonicMs();
    return Math.max(0, owedMs - (burst - 1) * everyMs);
  }

  failed(name: string): void {
    const nowMs = this.clock.monotonicMs();
    const owed = Math.max(nowMs, this.owedUntilMs.get(name) ?? 0) + this.limits.everyMs;
    this.owedUntilMs.delete(name);
    for (const [other, untilMs] of this.owedUntilMs) {
      if (untilMs > nowMs && this.owedUntilMs.size < maxKept) break;
      this.owedUntilMs.delete(other);
    }
    this.owedUntilMs.set(name, owed);
  }

  succeeded(name: string): void {
    this.owedUntilMs.delete(name);
  }
}

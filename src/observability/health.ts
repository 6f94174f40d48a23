import type { Clock } from '../runtime/clock.ts';
import { SingleFlight, withDeadline } from '../runtime/waiting.ts';

export interface CheckResult {
  readonly ok: boolean;
  /** One sentence for people, without secrets; also when it is ok. */
  readonly detail: string;
}

export interface HealthCheck {
  /** Stable, kebab-case: `database`, `topics`, `lane`. */
  readonly name: string;
  /**
   * A failure's meaning. `unready`: no traffic, please. `degraded`: callers should know about it,
   * but reads continue. `leader`: ready, but not for probes that ask for the leader.
   */
  readonly effect: 'unready' | 'degraded' | 'leader';
  check(): Promise<CheckResult>;
}

interface CheckReport extends CheckResult {
  readonly name: string;
  readonly effect: HealthCheck['effect'];
  readonly ms: number;
}

interface HealthReport {
  readonly status: 'ready' | 'degraded' | 'unready';
  /** True when every check with the effect `leader` passes too. */
  readonly leader: boolean;
  readonly checks: readonly CheckReport[];
}

interface HealthOptions {
  /** For each check; they run side by side. */
  readonly checkDeadlineMs: number;
  /**
   * A report is valid for this long: with any number of probes the database is asked once in that
   * time.
   */
  readonly maxAgeMs: number;
}

/**
 * A process's named checks, and one report about all.
 *
 * Invariant: `report` never rejects and never takes longer than one check's deadline; a check that
 * hangs is not started again until it ends.
 */
export class HealthRegistry {
  private readonly checks: { readonly check: HealthCheck; readonly flight: SingleFlight<CheckResult> }[] = [];
  private last: { readonly atMs: number; readonly report: Promise<HealthReport> } | undefined;
  private readonly clock: Clock;
  private readonly options: HealthOptions;

  constructor(deps: { readonly clock: Clock }, options: HealthOptions) {
    this.clock = deps.clock;
    this.options = options;
  }

  /** Throws when the name is taken. */
  add(check: HealthCheck): void {
    if (this.checks.some((known) => known.check.name === check.name))
      throw new Error(`there is a health check named ${check.name} already`);
    this.checks.push({ check, flight: new SingleFlight() });
    this.last = undefined;
  }

  /** The newest report, or a new one when that is too old. */
  report(): Promise<HealthReport> {
    const nowMs = this.clock.monotonicMs();
    if (this.last !== undefined && nowMs - this.last.atMs < this.options.maxAgeMs) return this.last.report;
    const report = this.evaluate();
    this.last = { atMs: nowMs, report };
    return report;
  }

  private async evaluate(): Promise<HealthReport> {
    const checks = await Promise.all(this.checks.map(({ check, flight }) => this.runCheck(check, flight)));
    const failed = (effect: HealthCheck['effect']) => checks.some((check) => check.effect === effect && !check.ok);
    const status = failed('unready') ? 'unready' : failed('degraded') ? 'degraded' : 'ready';
    return { status, leader: status !== 'unready' && !failed('leader'), checks };
  }

  private async runCheck(check: HealthCheck, flight: SingleFlight<CheckResult>): Promise<CheckReport> {
    const { name, effect } = check;
    const beganMs = this.clock.monotonicMs();
    const asked = flight.run(async () => check.check());
    const { ok, detail } = await withDeadline(this.clock, this.options.checkDeadlineMs, name, asked).catch(
      (error: unknown) => ({
        ok: false,
        detail: error instanceof Error && error.message !== '' ? error.message : `${name} failed`,
      }),
    );
    return { name, effect, ok, detail, ms: Math.round(this.clock.monotonicMs() - beganMs) };
  }
}

import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { askPrometheus } from '../../tools/dashboards/ask-prometheus.ts';
import { startPrometheus } from '../support/servers/start-prometheus.ts';

/** A rule as Prometheus judges it. */
interface JudgedRule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
  readonly state?: string;
}

/**
 * A real Prometheus (`startPrometheus`) that scrapes one target every second. Ended with the test.
 */
export class RunningPrometheus {
  private readonly base: string;
  private readonly startedMs = systemClock.nowMs();

  private constructor(base: string) {
    this.base = base;
  }

  /** `target` is `host:port`. */
  static async start(target: string): Promise<RunningPrometheus> {
    const { base, stop } = await startPrometheus({ targets: [{ address: target }], everySeconds: 1 });
    onTestFinished(stop);
    return new RunningPrometheus(base);
  }

  /**
   * Every value of every series of an expression since the start, as numbers; NaN and infinities
   * among them. Throws when it is refused.
   */
  async values(expr: string): Promise<number[]> {
    const nowMs = systemClock.nowMs();
    const query = { query: expr, start: String(this.startedMs / 1000), end: String(nowMs / 1000), step: '1' };
    const { result } = await askPrometheus<{ result: { values: [number, string][] }[] }>(
      this.base,
      'query_range',
      query,
    );
    return result.flatMap(({ values }) => values.map(([, value]) => Number(value.replace('Inf', 'Infinity'))));
  }

  async rules(): Promise<JudgedRule[]> {
    const { groups } = await askPrometheus<{ groups: { rules: JudgedRule[] }[] }>(this.base, 'rules', {});
    return groups.flatMap(({ rules }) => rules);
  }
}

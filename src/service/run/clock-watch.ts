import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { Rounds } from '../../runtime/rounds.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import type { Http, HttpResult } from '../../venue/http.ts';
import {
  type ClockReading,
  clockReading,
  harmfulSkewMs,
  readingOf,
  skewWords,
} from '../../venue/platform/clock-reading.ts';

interface ClockWatchDeps extends ClockAndLogger {
  readonly metrics: Pick<Metrics['process'], 'clockAhead'>;
  /** Postgres's time, in milliseconds since the epoch. */
  readonly databaseMs: () => Promise<number>;
}

/**
 * `detail` names each clock and how far apart they were seen. Since when: wall time of this
 * process, which may itself be wrong.
 */
export interface ClockDoubt {
  readonly detail: string;
  readonly sinceMs: number;
}

type Other = 'postgres' | 'platform';
const names: Readonly<Record<Other, string>> = { postgres: 'Postgres', platform: 'the platform' };

const lookEveryMs = 60_000;
const askWithinMs = 5_000;
/**
 * The platform's answers come at least with each audit. An older reading says nothing about a clock
 * set since.
 */
const validForMs = 300_000;

/**
 * Compares this process's clock with Postgres's, each minute, and with the platform's by the `Date`
 * in its answers: no extra request is sent. With a clock hours ahead Kafka refuses every record,
 * and nothing else would name the reason.
 *
 * Two clocks do not show which one is wrong, so only the readings are reported.
 */
export class ClockWatch {
  private readonly readings = new Map<Other, { readonly reading: ClockReading; readonly atMs: number }>();
  readonly rounds: Rounds;
  private sinceMs: number | undefined;
  private readonly deps: ClockWatchDeps;

  constructor(deps: ClockWatchDeps) {
    this.deps = deps;
    this.rounds = new Rounds(
      { clock: deps.clock, round: () => this.compare() },
      { name: 'clock-watch', everyMs: lookEveryMs },
    );
  }

  /** The same client, and this watch reads its answers. */
  watching(http: Http): Http {
    const { clock } = this.deps;
    return {
      request: async (request) => {
        const beganMs = clock.monotonicMs();
        const result = await http.request(request);
        this.sawAnswer(result, clock.monotonicMs() - beganMs);
        return result;
      },
      close: () => http.close(),
    };
  }

  /** Undefined: the clocks agree, as far as they could be compared. */
  doubt(): ClockDoubt | undefined {
    const now = [...this.current()];
    if (!now.some(([, reading]) => isSkewed(reading))) return undefined;
    const seen = (Object.keys(names) as Other[]).map((other) => {
      const reading = now.find(([of]) => of === other)?.[1];
      if (reading === undefined) return `could not be compared with that of ${names[other]}`;
      return isSkewed(reading) ? `is ${skewWords(reading, names[other])}` : `agrees with that of ${names[other]}`;
    });
    return {
      detail: `the clock of this process ${seen.join(', and ')}`,
      sinceMs: this.sinceMs ?? this.deps.clock.nowMs(),
    };
  }

  private async compare(): Promise<void> {
    const { clock, log } = this.deps;
    const beganMs = clock.monotonicMs();
    try {
      const theirsMs = await withDeadline(clock, askWithinMs, 'the time of Postgres', this.deps.databaseMs());
      this.see('postgres', clockReading(clock.nowMs(), clock.monotonicMs() - beganMs, theirsMs));
    } catch (err) {
      log.debug({ err }, 'the clock could not be compared with that of Postgres');
    }
    this.forgetOld();
  }

  private sawAnswer(result: HttpResult, tookMs: number): void {
    const reading = readingOf(result, this.deps.clock.nowMs(), tookMs);
    // A slow answer says less than the one before it.
    if (reading !== undefined && reading.uncertainMs < harmfulSkewMs / 3) this.see('platform', reading);
  }

  private see(other: Other, reading: ClockReading): void {
    const { clock, log, metrics } = this.deps;
    this.readings.set(other, { reading, atMs: clock.monotonicMs() });
    metrics.clockAhead.set({ of: other }, reading.aheadMs / 1000);
    const isDoubtful = [...this.current()].some(([, each]) => isSkewed(each));
    if (isDoubtful && this.sinceMs === undefined) {
      this.sinceMs = clock.nowMs();
      log.warn({ clocks: this.doubt()?.detail }, 'clocks disagree: see docs/runbooks/ClockSkewed.md');
    }
    if (!isDoubtful && this.sinceMs !== undefined) {
      this.sinceMs = undefined;
      log.info({}, 'the clocks agree again');
    }
  }

  /** Neither the doubt nor the alert may go on about a clock that may have been set since. */
  private forgetOld(): void {
    const { clock, metrics } = this.deps;
    for (const [other, { atMs }] of this.readings) {
      if (clock.monotonicMs() - atMs <= validForMs) continue;
      this.readings.delete(other);
      metrics.clockAhead.remove({ of: other });
    }
    if (this.doubt() === undefined) this.sinceMs = undefined;
  }

  private *current(): Iterable<readonly [Other, ClockReading]> {
    const nowMs = this.deps.clock.monotonicMs();
    for (const [other, { reading, atMs }] of this.readings) if (nowMs - atMs <= validForMs) yield [other, reading];
  }
}

function isSkewed({ aheadMs, uncertainMs }: ClockReading): boolean {
  return Math.abs(aheadMs) - uncertainMs >= harmfulSkewMs;
}

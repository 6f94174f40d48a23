import type { ClockAndLogger } from '../../observability/ambient.ts';
import { Rounds } from '../../runtime/rounds.ts';
import { type PipelineRates, type PipelineReading, ratesBetween } from '../fleet/pipeline-reading.ts';

interface PipelineRingDeps extends ClockAndLogger {
  readonly read: () => Promise<PipelineReading>;
}

interface PipelineRingOptions {
  readonly everyMs: number;
  /** The most readings kept. */
  readonly kept: number;
}

/** One each ten seconds, for an hour: about half a megabyte. */
export const pipelineRingDefaults: PipelineRingOptions = { everyMs: 10_000, kept: 361 };

const minuteMs = 60_000;

/**
 * Keeps a reading of the data's way each few seconds, in memory and up to a fixed number, so that
 * rates and lines need no other program. Every process has its own, and it begins empty.
 */
export class PipelineRing {
  private readings: PipelineReading[] = [];
  readonly rounds: Rounds;
  private readonly deps: PipelineRingDeps;
  private readonly options: PipelineRingOptions;

  constructor(deps: PipelineRingDeps, options: PipelineRingOptions) {
    this.deps = deps;
    this.options = options;
    const doing = 'reading the state of the pipeline';
    this.rounds = new Rounds({ ...deps, round: () => this.take() }, { ...options, name: 'pipeline-ring', doing });
  }

  get everyMs(): number {
    return this.options.everyMs;
  }

  /** Oldest first. */
  get kept(): readonly PipelineReading[] {
    return this.readings;
  }

  /** The last minute's rates up to `now`, or the rates since the start if that is shorter. */
  lastMinute(now: PipelineReading): PipelineRates {
    const before = this.readings.find(({ monotonicMs }) => now.monotonicMs - monotonicMs <= minuteMs);
    return ratesBetween(before ?? now, now);
  }

  private async take(): Promise<void> {
    this.readings.push(await this.deps.read());
    if (this.readings.length > this.options.kept) this.readings.shift();
  }
}

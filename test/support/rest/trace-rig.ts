import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { type OpenedTracing, type SamplerName, startTracing } from '../../../src/observability/open-tracing.ts';
import type { Tracing } from '../../../src/observability/tracing.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';

/** Traces whose spans stay in memory. */
export class TraceRig {
  private readonly exporter = new InMemorySpanExporter();
  private readonly opened: OpenedTracing;

  constructor(clock: Clock, { sampler = 'parentbased_always_on' as SamplerName, ratio = 1 } = {}) {
    const options = { serviceName: 'tidemark', version: '1.2.3', sampler, ratio };
    this.opened = startTracing(
      { clock, random: seededRandom(7) },
      options,
      new SimpleSpanProcessor({ exporter: this.exporter }),
    );
  }

  get tracing(): Tracing {
    return this.opened.tracing;
  }

  /** Those that have ended, in that order. */
  get spans(): readonly ReadableSpan[] {
    return this.exporter.getFinishedSpans();
  }

  get names(): string[] {
    return this.spans.map(({ name }) => name);
  }

  /** The only one of this name. */
  named(name: string): ReadableSpan {
    const [span, ...others] = this.spans.filter((each) => each.name === name);
    if (span === undefined || others.length > 0) throw new Error(`not one "${name}" among ${this.names.join(', ')}`);
    return span;
  }

  /** Milliseconds since the epoch. */
  static times({ startTime, endTime }: ReadableSpan): [number, number] {
    return [toMs(startTime), toMs(endTime)];
  }
}

function toMs([seconds, nanos]: readonly [number, number]): number {
  return Math.round(seconds * 1000 + nanos / 1e6);
}

import type { Stream } from '../domain/order.ts';
import type { Metrics } from '../observability/metrics.ts';
import { SourceGauges } from './source-gauges.ts';
import type { AccountState } from './source-status.ts';

/**
 * What a source counts, in plain numbers on the hot path, carried over into the metrics once a second: a labelled counter and two gauges a frame would
 * cost more than a tenth of decoding it.
 */
export class SourceMeter {
  lastFrameMs = 0;
  lastEventMs = 0;
  private readonly counts = { event: 0, control: 0, unreadable: 0 };
  private readonly stream: Stream;
  private readonly metrics: Metrics['source'];
  private readonly gauges: SourceGauges;

  constructor(stream: Stream, metrics: Metrics['source'], gauges = new SourceGauges(metrics)) {
    this.stream = stream;
    this.metrics = metrics;
    this.gauges = gauges;
  }

  frame(type: 'event' | 'control' | 'unreadable', nowMs: number): void {
    this.counts[type] += 1;
    this.lastFrameMs = nowMs;
    if (type === 'event') this.lastEventMs = nowMs;
  }

  flush(states: readonly AccountState[]): void {
    const { stream, lastFrameMs, lastEventMs } = this;
    this.count();
    this.gauges.set(this, { stream, states, lastFrameMs, lastEventMs });
  }

  /** The source is gone: what it counted stays, what it showed goes. */
  stop(): void {
    this.count();
    this.gauges.remove(this);
  }

  private count(): void {
    for (const type of ['event', 'control', 'unreadable'] as const) {
      if (this.counts[type] > 0) this.metrics.frames.inc({ source: this.stream, type }, this.counts[type]);
      this.counts[type] = 0;
    }
  }
}

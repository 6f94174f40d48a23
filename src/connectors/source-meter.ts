import type { Stream } from '../domain/order.ts';
import type { Metrics } from '../observability/metrics.ts';
import { SourceGauges } from './source-gauges.ts';
import type { AccountStatus } from './source-status.ts';

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

  flush(accounts: readonly AccountStatus[]): void {
    const { stream, lastFrameMs, lastEventMs } = this;
    this.count();
    const oldestReadMs = oldestRead(accounts);
    this.gauges.set(this, {
      stream,
      accounts,
      lastFrameMs,
      lastEventMs,
      ...(oldestReadMs === undefined ? {} : { oldestReadMs }),
    });
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

/** Of live accounts alone: one that is not live is shown by its state, and has no audits that could be late. */
function oldestRead(accounts: readonly AccountStatus[]): number | undefined {
  let oldestMs: number | undefined;
  for (const { state, lastResyncMs = 0, lastAuditMs = 0 } of accounts) {
    if (state !== 'live') continue;
    const readMs = Math.max(lastResyncMs, lastAuditMs);
    oldestMs = oldestMs === undefined ? readMs : Math.min(oldestMs, readMs);
  }
  return oldestMs;
}

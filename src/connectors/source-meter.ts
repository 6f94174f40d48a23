import type { Stream } from '../domain/order.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type AccountState, accountStates } from './source-status.ts';

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

  constructor(stream: Stream, metrics: Metrics['source']) {
    this.stream = stream;
    this.metrics = metrics;
  }

  frame(type: 'event' | 'control' | 'unreadable', nowMs: number): void {
    this.counts[type] += 1;
    this.lastFrameMs = nowMs;
    if (type === 'event') this.lastEventMs = nowMs;
  }

  flush(states: Iterable<AccountState>): void {
    const source = this.stream;
    for (const type of ['event', 'control', 'unreadable'] as const) {
      if (this.counts[type] > 0) this.metrics.frames.inc({ source, type }, this.counts[type]);
      this.counts[type] = 0;
    }
    if (this.lastFrameMs > 0) this.metrics.lastFrame.set({ source }, this.lastFrameMs / 1000);
    if (this.lastEventMs > 0) this.metrics.lastEvent.set({ source }, this.lastEventMs / 1000);
    const inState = new Map<AccountState, number>();
    for (const state of states) inState.set(state, (inState.get(state) ?? 0) + 1);
    for (const state of accountStates) this.metrics.state.set({ source, state }, inState.get(state) ?? 0);
  }
}

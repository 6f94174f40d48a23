import type { Stream } from '../domain/order.ts';
import type { Metrics } from '../observability/metrics.ts';
import { absenceCauses } from './absent-orders.ts';
import { type AccountStatus, accountStates } from './source-status.ts';

/** What one source shows at the moment. Wall time in milliseconds, 0 for never. */
export interface SourceReading {
  readonly stream: Stream;
  readonly accounts: readonly Pick<AccountStatus, 'state' | 'unrecovered' | 'inDoubt' | 'absent'>[];
  readonly lastFrameMs: number;
  readonly lastEventMs: number;
  /** Of the live account that was read whole longest ago; left out when none is live. */
  readonly oldestReadMs?: number;
}

/**
 * The gauges of a stream, over the sources of all credentials: a gauge that each of them set for itself would show the last one that spoke.
 *
 * Invariant: each gauge is made from the newest reading of every source that is there.
 */
export class SourceGauges {
  private readonly readings = new Map<object, SourceReading>();
  private readonly metrics: Metrics['source'];

  constructor(metrics: Metrics['source']) {
    this.metrics = metrics;
  }

  set(source: object, reading: SourceReading): void {
    this.readings.set(source, reading);
    this.publish(reading.stream);
  }

  remove(source: object): void {
    const reading = this.readings.get(source);
    this.readings.delete(source);
    if (reading !== undefined) this.publish(reading.stream);
  }

  private publish(stream: Stream): void {
    const readings = [...this.readings.values()].filter((reading) => reading.stream === stream);
    const accounts = readings.flatMap((reading) => reading.accounts);
    const sum = (of: (account: SourceReading['accounts'][number]) => number) =>
      accounts.reduce((total, account) => total + of(account), 0);
    for (const state of accountStates)
      this.metrics.state.set(
        { source: stream, state },
        sum((account) => (account.state === state ? 1 : 0)),
      );
    this.metrics.unrecovered.set(
      { source: stream },
      sum(({ unrecovered }) => unrecovered),
    );
    this.metrics.inDoubt.set(
      { source: stream },
      sum(({ inDoubt }) => inDoubt),
    );
    for (const cause of absenceCauses)
      this.metrics.absentOrders.set(
        { source: stream, cause },
        sum(({ absent }) => absent.find((each) => each.cause === cause)?.orders ?? 0),
      );
    // The one that is silent longest counts, or a silent source would hide behind a busy one; one without accounts has nothing to say.
    const frames = readings.filter(({ accounts: its, lastFrameMs }) => its.length > 0 && lastFrameMs > 0);
    const oldest = Math.min(...frames.map(({ lastFrameMs }) => lastFrameMs));
    if (frames.length > 0) this.metrics.lastFrame.set({ source: stream }, oldest / 1000);
    const reads = readings.flatMap(({ oldestReadMs }) => (oldestReadMs === undefined ? [] : [oldestReadMs]));
    this.metrics.lastCompleteRead.set({ source: stream }, reads.length === 0 ? 0 : Math.min(...reads) / 1000);
    const lastEventMs = Math.max(0, ...readings.map((reading) => reading.lastEventMs));
    if (lastEventMs > 0) this.metrics.lastEvent.set({ source: stream }, lastEventMs / 1000);
  }
}

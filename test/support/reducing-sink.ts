import type { ObservationSink } from '../../src/connectors/observation-sink.ts';
import type { Head } from '../../src/domain/head.ts';
import type { ContinuityMark, IngestItem, Unreadable } from '../../src/domain/observation.ts';
import { isTerminal, orderKey, type Stream } from '../../src/domain/order.ts';
import { reduce } from '../../src/domain/reduce.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import type { AccountRecord, AccountRegistry, OpenOrder } from '../../src/store/account-registry.ts';

/** Ingest and store in one, in memory: the real reducers, settled at once. What connectors bring can be compared with the truth. */
export class ReducingSink implements ObservationSink, AccountRegistry {
  readonly heads = new Map<string, Head>();
  readonly unreadable: Unreadable[] = [];
  readonly marks: ContinuityMark[] = [];
  readonly conflicts: string[] = [];
  readonly full = false;
  private readonly records = new Map<string, AccountRecord>();
  private readonly touchedMs = new Map<string, number>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  offer(item: IngestItem): void {
    if (item.kind === 'unreadable') this.unreadable.push(item);
    if (item.kind === 'continuity') this.marks.push(item);
    if (item.kind !== 'order') return;
    const key = orderKey(item.view.stream, item.view.orderId);
    const reduction = reduce(this.heads.get(key), item);
    if (reduction.outcome === 'conflict') this.conflicts.push(`${key}: ${reduction.detail}`);
    else if (reduction.head !== undefined) this.heads.set(key, reduction.head);
    if (reduction.outcome === 'applied') this.touchedMs.set(key, this.clock.nowMs());
    item.onOutcome?.(reduction.outcome);
    if (reduction.outcome !== 'conflict' && reduction.doubt !== undefined) item.onDoubt?.(item, reduction.doubt);
  }

  onRoom(): () => void {
    return () => undefined;
  }

  async settled(): Promise<void> {}

  async load(): Promise<AccountRecord[]> {
    return [...this.records.values()];
  }

  async save(record: AccountRecord): Promise<void> {
    this.records.set(`${record.stream}:${record.accountId}`, record);
  }

  async openOrders(stream: Stream, accountId: string, beforeMs: number, after: string, limit: number): Promise<OpenOrder[]> {
    return [...this.heads.entries()]
      .filter(
        ([key, { order }]) =>
          order.stream === stream && order.accountId === accountId && (this.touchedMs.get(key) ?? 0) < beforeMs,
      )
      .filter(([, { order }]) => !isTerminal(order.status) && order.orderId > after)
      .map(([, { order, sourceVersion }]) => ({
        orderId: order.orderId,
        status: order.status,
        sourceVersion,
        updatedAt: order.updatedAt,
      }))
      .sort((a, b) => (a.orderId < b.orderId ? -1 : 1))
      .slice(0, limit);
  }
}

import type { Head } from '../../../src/domain/head.ts';
import type { IngestItem, Unreadable, Watermark } from '../../../src/domain/observation.ts';
import { orderKey, type Stream } from '../../../src/domain/order.ts';
import { reduce } from '../../../src/domain/reduce.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { ObservationSink } from '../../../src/service/sources/observation-sink.ts';
import type { OpenOrder } from '../../../src/store/fleet/account-registry.ts';
import { heldOrder, openOrdersOf } from '../../simulation/database-rows.ts';
import { ScriptedRegistry } from '../platform/scripted-registry.ts';

/**
 * Ingest and store in one, for tests of whole connectors: the real reducers, resolved at once, so
 * that what connectors bring can be compared with the truth. Tests of ingest itself use it as it
 * is, over `MemoryDatabase` (`ingestRig`).
 */
export class ReducingSink extends ScriptedRegistry implements ObservationSink {
  readonly heads = new Map<string, Head>();
  readonly unreadable: Unreadable[] = [];
  readonly marks: Watermark[] = [];
  readonly conflicts: string[] = [];
  readonly full = false;
  /** By a clock of its own, as a database has. */
  private readonly touchedMs = new Map<string, number>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    super();
    this.clock = clock;
  }

  offer(item: IngestItem): void {
    if (item.kind === 'unreadable') this.unreadable.push(item);
    if (item.kind === 'watermarks') this.marks.push(item);
    if (item.kind !== 'order') return;
    const key = orderKey(item.view.stream, item.view.orderId);
    const reduction = reduce(this.heads.get(key), item);
    if (reduction.result === 'conflict') this.conflicts.push(`${key}: ${reduction.detail}`);
    else if (reduction.head !== undefined) this.heads.set(key, reduction.head);
    if (reduction.result === 'applied') this.touchedMs.set(key, this.clock.monotonicMs());
    item.onResult?.(reduction.result, reduction.result === 'applied' && reduction.learnt);
    if (reduction.result === 'conflict') item.onDoubt?.(item, 'dead_lettered', 0);
    else if (reduction.doubt !== undefined) item.onDoubt?.(item, reduction.doubt, this.heads.get(key)?.revision ?? 0);
  }

  onRoom(): () => void {
    return () => undefined;
  }

  async committed(): Promise<void> {}

  override async openOrders(
    stream: Stream,
    accountId: string,
    withinMs: number,
    afterOrderId: string,
    limit: number,
  ): Promise<OpenOrder[]> {
    const heads = [...this.heads].filter(([, { order }]) => order.stream === stream && order.accountId === accountId);
    const held = heads.map(([key, head]) => ({ ...head, touchedMs: this.touchedMs.get(key) ?? 0 }));
    return openOrdersOf(held, { withinMs, nowMs: this.clock.monotonicMs(), afterOrderId, limit });
  }

  override async ordersNamed(stream: Stream, orderIds: readonly string[]): Promise<OpenOrder[]> {
    return orderIds.flatMap((orderId) => this.heads.get(orderKey(stream, orderId)) ?? []).map(heldOrder);
  }
}

interface StoreUsers {
  readonly clock: Clock;
  readonly sink: { offer: (item: IngestItem) => void };
  readonly registry: Pick<ReducingSink, 'openOrders' | 'ordersNamed'>;
}

/** The store behind a rig's connectors: it reduces what they bring, and knows the open orders. */
export function storeBehind({ clock, sink, registry }: StoreUsers): ReducingSink {
  const store = new ReducingSink(clock);
  sink.offer = (item) => store.offer(item);
  registry.openOrders = (...asked) => store.openOrders(...asked);
  registry.ordersNamed = (...asked) => store.ordersNamed(...asked);
  return store;
}

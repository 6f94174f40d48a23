import { isTerminal, type Order, orderKey, type Stream } from '../../../src/domain/order.ts';
import type { BoundOrder, ResolvingUpdate } from '../../../src/domain/resolving.ts';
import type { OpenOrder } from '../../../src/store/commands/cancel-all-journal.ts';

/**
 * The side of the journal that reads what ingest has committed. All answers are of this instant.
 */
export interface JournaledOrders {
  boundOrders(commandIds: ReadonlySet<string>): BoundOrder[];
  updatesAfter(stream: Stream, orderId: string, afterRevision: number, limit: number): ResolvingUpdate[];
  readOrder(stream: Stream, orderId: string): ResolvingUpdate | undefined;
  openOrders(accountId: string, after: OpenOrder | undefined, limit: number): Order[];
}

/** As the port sorts them, a page of them. */
export function pageOf(orders: readonly Order[], after: OpenOrder | undefined, limit: number): Order[] {
  const place = ({ stream, orderId }: Pick<OpenOrder, 'stream' | 'orderId'>) => `${stream} ${orderId}`;
  return orders
    .filter((order) => after === undefined || place(order) > place(after))
    .sort((a, b) => (place(a) < place(b) ? -1 : 1))
    .slice(0, limit);
}

/**
 * Orders as a test gives them, for the journal of a `CommandRig`. In the simulator they are those
 * that ingest has committed.
 */
export class ScriptedOrders implements JournaledOrders {
  private readonly updates = new Map<string, ResolvingUpdate[]>();
  private readonly bound: BoundOrder[] = [];

  /** The order's next revision. */
  add(update: ResolvingUpdate): void {
    const key = orderKey(update.order.stream, update.order.orderId);
    this.updates.set(key, [...(this.updates.get(key) ?? []), update]);
  }

  bind(order: BoundOrder): void {
    this.bound.push(order);
  }

  boundOrders(commandIds: ReadonlySet<string>): BoundOrder[] {
    return this.bound.filter(({ commandId }) => commandIds.has(commandId));
  }

  updatesAfter(stream: Stream, orderId: string, afterRevision: number, limit: number): ResolvingUpdate[] {
    const all = this.updates.get(orderKey(stream, orderId)) ?? [];
    return all.filter(({ revision }) => revision > afterRevision).slice(0, limit);
  }

  readOrder(stream: Stream, orderId: string): ResolvingUpdate | undefined {
    return this.updates.get(orderKey(stream, orderId))?.at(-1);
  }

  openOrders(accountId: string, after: OpenOrder | undefined, limit: number): Order[] {
    const newest = [...this.updates.values()].flatMap((updates) => updates.at(-1)?.order ?? []);
    const open = newest.filter((order) => order.accountId === accountId && !isTerminal(order.status));
    return pageOf(open, after, limit);
  }
}

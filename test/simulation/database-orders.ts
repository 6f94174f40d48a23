import { decodeUpdate } from '../../src/domain/encode-update.ts';
import { decodeHead } from '../../src/domain/head.ts';
import { isTerminal, type Order, orderKey, type Stream } from '../../src/domain/order.ts';
import type { BoundOrder, ResolvingUpdate } from '../../src/domain/resolving.ts';
import type { OpenOrder } from '../../src/store/commands/cancel-all-journal.ts';
import { type JournaledOrders, pageOf } from '../support/commands/journaled-orders.ts';
import type { MemoryDatabase } from './world/memory-database.ts';

/** What the journal reads of the orders that ingest has committed. */
export class DatabaseOrders implements JournaledOrders {
  private readonly database: MemoryDatabase;

  constructor(database: MemoryDatabase) {
    this.database = database;
  }

  boundOrders(commandIds: ReadonlySet<string>): BoundOrder[] {
    const rows = [...this.database.bindings.values()].filter(({ commandId }) => commandIds.has(commandId));
    return rows.map(({ attemptId, commandId, orderId, matches }) => ({ attemptId, commandId, orderId, matches }));
  }

  updatesAfter(stream: Stream, orderId: string, afterRevision: number, limit: number): ResolvingUpdate[] {
    const key = orderKey(stream, orderId);
    const rows = this.database.log.filter(
      (row) => row.key === key && row.topic === 'updates' && row.revision > afterRevision,
    );
    return rows.slice(0, limit).map(({ payload }) => decodeUpdate(payload));
  }

  readOrder(stream: Stream, orderId: string): ResolvingUpdate | undefined {
    const head = this.database.heads.get(orderKey(stream, orderId));
    if (head === undefined) return undefined;
    const [newest] = this.updatesAfter(stream, orderId, head.revision - 1, 1);
    return newest && { ...newest, ...(decodeHead(head).join['inQuestion'] === true && { inQuestion: true }) };
  }

  openOrders(accountId: string, after: OpenOrder | undefined, limit: number): Order[] {
    const heads = [...this.database.heads.values()].filter((head) => head.accountId === accountId);
    const orders = heads.map((head) => decodeHead(head).order);
    return pageOf(
      orders.filter(({ status }) => !isTerminal(status)),
      after,
      limit,
    );
  }
}

import { isUnreadable } from '../../src/domain/head.ts';
import { orderKey } from '../../src/domain/order.ts';
import type { Lease } from '../../src/runtime/lease.ts';
import type { Random } from '../../src/runtime/random.ts';
import type { AccountRegistry } from '../../src/store/fleet/account-registry.ts';
import type { LaneStore } from '../../src/store/fleet/lane-store.ts';
import type { ShardStore } from '../../src/store/fleet/shard-store.ts';
import type { OrderStore } from '../../src/store/orders/order-store.ts';
import type { UpdateLog } from '../../src/store/orders/update-log.ts';
import { heldOrder, laneSession } from './database-rows.ts';
import type { Host } from './host.ts';
import type { MemoryDatabase } from './world/memory-database.ts';

/** All that a process asks of the database. */
export interface DatabaseClient {
  readonly orders: OrderStore;
  readonly lanes: LaneStore;
  readonly shards: ShardStore;
  readonly updates: UpdateLog;
  readonly accounts: (lease: Lease) => AccountRegistry;
}

/**
 * One process's connections. Its batches have one of their own; when it crashes, those that had not
 * left yet are lost, and the others go on without it.
 */
export function databaseClient(database: MemoryDatabase, host: Host, random: Random): DatabaseClient {
  const session = laneSession();
  host.onCrash.push(() => {
    session.cut = random.next() < 0.5;
  });
  return {
    orders: {
      readHeads: (keys) => host.answer(database.readHeads(keys)),
      readBindings: (attemptIds) => host.answer(database.readBindings(attemptIds)),
      readUnproven: (...call) => host.answer(database.readUnproven(...call)),
      applyBatch: (batch) => host.answer(database.applyBatch(batch, session)),
    },
    lanes: {
      pick: (...call) => host.answer(database.pick(...call)),
      acquire: (...call) => host.answer(database.acquire(...call)),
      renew: (...call) => host.answer(database.renew(...call)),
      reclaim: (...call) => host.answer(database.reclaim(...call)),
      holdBack: (...call) => host.answer(database.holdBack(...call)),
      release: (...call) => host.answer(database.release(...call)),
    },
    shards: {
      look: (...call) => host.answer(database.shards.look(...call)),
      introduce: (...call) => host.answer(database.shards.introduce(...call)),
      resume: (...call) => host.answer(database.shards.resume(...call)),
      take: (...call) => host.answer(database.shards.take(...call)),
      free: (...call) => host.answer(database.shards.free(...call)),
      freeAll: (...call) => host.answer(database.shards.freeAll(...call)),
    },
    updates: {
      backlog: (...call) => host.answer(database.backlog(...call)),
      readAfter: (...call) => host.answer(database.readAfter(...call)),
      readNewestAfter: (...call) => host.answer(database.readNewestAfter(...call)),
      loadPosition: (...call) => host.answer(database.loadPosition(...call)),
      savePosition: (...call) => host.answer(database.savePosition(...call)),
      pendingAfter: (...call) => host.answer(database.pendingAfter(...call)),
    },
    accounts: (lease) => ({
      load: () => host.answer(database.load()),
      save: (record) => host.answer(database.save(record, lease.lane, lease.checkpoint.newest)),
      openOrders: (...call) => host.answer(database.openOrders(...call)),
      ordersNamed: async (stream, orderIds) => {
        const heads = await host.answer(database.readHeads(orderIds.map((orderId) => orderKey(stream, orderId))));
        return [...heads.values()].flatMap((head) => (isUnreadable(head) ? [] : [heldOrder(head)]));
      },
    }),
  };
}

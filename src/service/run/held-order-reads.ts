import { encodeOrder } from '../../domain/encode-update.ts';
import { orderKey } from '../../domain/order.ts';
import type { OrderReads } from '../../store/orders/order-reads.ts';
import type { HeldShards } from '../fleet/held-shards.ts';
import type { Ingest } from '../orders/ingest.ts';
import { maySee } from '../rest/auth/principal.ts';

/**
 * Reads of single orders from memory, where this process holds their shard; all else from the
 * database. Both show the same: memory has what was committed, and nothing that is under way.
 */
export function heldOrderReads(
  reads: OrderReads,
  ingest: Pick<Ingest, 'openOrder'>,
  held: Pick<HeldShards, 'follows'>,
): OrderReads {
  return {
    ...reads,
    getOrder: async (scope, stream, orderId) => {
      const { order, revision, sourceVersion } = ingest.openOrder(orderKey(stream, orderId)) ?? {};
      // A shard that was given away leaves its orders behind in memory.
      if (order === undefined || revision === undefined || !held.follows(order.accountId))
        return reads.getOrder(scope, stream, orderId);
      const { accountId } = order;
      if (!maySee(scope, accountId)) return undefined;
      return { stream, orderId, accountId, revision, sourceVersion, state: encodeOrder(order) };
    },
  };
}

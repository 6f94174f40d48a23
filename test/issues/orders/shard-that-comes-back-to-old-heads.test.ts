// What a user saw: A correction of an order was ignored after its shard had moved away and come back.

import { expect, it } from 'vitest';
import { orderKey } from '../../../src/domain/order.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

// Found by reading, for the simulator of a fleet: a shard that was given away and came back met the
// heads of before in memory. Its first batch was refused, and what the other process had seen
// corrected counted as unchanged when it was corrected back.
it('reads the orders of an account again that was with another process', async () => {
  const rig = await ingestRig(4);
  rig.ingest.begin(rig.hold);
  rig.offer(observe(orderAt(1, 1)));
  await rig.clock.advance(100);
  const key = orderKey('account', 'ord-1');
  const head = rig.database.heads.get(key);
  if (head === undefined) throw new Error('the order is stored');
  rig.database.heads.set(key, { ...head, revision: 7 });
  rig.ingest.forgetOrders((accountId) => accountId === head.accountId);
  rig.offer(observe(orderAt(1, 2)));
  await rig.clock.advance(100);
  expect(rig.database.heads.get(key)?.revision).toBe(8);
});

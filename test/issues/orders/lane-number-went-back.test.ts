// What a user saw: After a failover the service tried the same batch for ever without a pause.

import { expect, it } from 'vitest';
import type { Batch } from '../../../src/store/orders/order-store.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

// Found by reading: after a failover to a replica that lacked the last commits, the lane's number
// is lower than every batch that we may still send. Each was refused as out of order, the lane
// reclaimed, and the same number tried again, without a pause and for ever.
it('ends its term when the database has forgotten batches that had committed', async () => {
  const rig = await ingestRig(3);
  rig.ingest.begin(rig.hold);
  for (let step = 0; step < 5; step += 1) {
    rig.offer(observe(orderAt(1, step)));
    await rig.clock.advance(100);
  }
  expect(rig.database.holdOf(0).batch).toBe(5n);
  const lane = (rig.database as unknown as { laneRow(lane: number): { batch: bigint } }).laneRow(0);
  lane.batch = 3n;
  let tries = 0;
  const apply = rig.database.applyBatch.bind(rig.database);
  rig.database.applyBatch = (batch: Batch) => {
    tries += 1;
    return apply(batch);
  };
  rig.offer(observe(orderAt(1, 5)));
  await rig.clock.advance(2000);
  expect(tries).toBeLessThan(3);
  expect(rig.state.lost).toBe(1);
});

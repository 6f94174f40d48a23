// What a user saw: A read was reported as complete while some of its rows were not stored yet.

import { expect, it } from 'vitest';
import type { Batch } from '../../../src/store/orders/order-store.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

// Found by review: the urgent rows of a batch end where it has its 4 MiB, also with rows
// left; the places that were still free went to the queue, and the barrier in it was
// resolved before what had been offered before it. A read was complete, and its mark saved,
// while rows below that mark were not committed.
it('settles everything that was offered before, also where it is more than one batch holds', async () => {
  const rig = await ingestRig(2, { batchMaxCount: 500, queueMaxCount: 4000, queueMaxBytes: 33_554_432 });
  rig.ingest.begin(rig.hold);
  for (let order = 0; order < 105; order += 1) rig.offer(observe(orderAt(order, 0), { urgent: true, bytes: 40_000 }));
  let settledAfter = -1;
  void rig.ingest.committed().then(() => {
    settledAfter = rig.outcomes.length;
  });
  await rig.clock.advance(5000);
  expect(settledAfter).toBe(105);
});

it('fills a batch from both queues to its bytes, not to twice as many', async () => {
  const rig = await ingestRig(3, { batchMaxCount: 500, queueMaxCount: 4000, queueMaxBytes: 33_554_432 });
  const sizes: number[] = [];
  const apply = rig.database.applyBatch.bind(rig.database);
  rig.database.applyBatch = (batch: Batch) => {
    sizes.push(batch.heads.length);
    return apply(batch);
  };
  rig.ingest.begin(rig.hold);
  for (let order = 0; order < 60; order += 1) rig.offer(observe(orderAt(order, 0), { bytes: 100_000 }));
  for (let order = 60; order < 80; order += 1) rig.offer(observe(orderAt(order, 0), { urgent: true, bytes: 100_000 }));
  await rig.clock.advance(5000);
  expect(sizes).toEqual([41, 39]);
});

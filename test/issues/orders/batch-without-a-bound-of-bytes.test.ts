// What a user saw: 500 large order events stopped a lane for ever: their one statement of 100 MB timed out.

import { expect, it } from 'vitest';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

// Found by reading: a batch was bounded by count alone. 500 frames of 64 KiB made a statement of
// 100 MB; where that did not pass within the statement's deadline it was reclaimed, put together
// again as it was, and never passed.
it('makes more batches of large observations, and at least one entry goes whatever its size', async () => {
  const rig = await ingestRig(4);
  rig.ingest.begin(rig.hold);
  for (let order = 0; order < 9; order += 1) rig.offer(observe(orderAt(order, 0), { bytes: 1024 * 1024 }));
  rig.offer(observe(orderAt(9, 0), { bytes: 64 * 1024 * 1024 }));
  await rig.clock.advance(1000);
  expect(rig.handed.map((batch) => batch.rows.length)).toEqual([4, 4, 1, 1]);
  expect(rig.outcomes).toHaveLength(10);
});

// What a user saw: On a slow link to the database, nothing was stored any more after two batches had failed.

import { expect, it } from 'vitest';
import type { Batch } from '../../../src/store/orders/order-store.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

const roomy = { batchMaxCount: 500, queueMaxCount: 4000, queueMaxBytes: 33_554_432 };

/**
 * A link that carries `maxRows` rows within the deadline of 5 s, after it has carried nothing for
 * the first `hiccups` batches.
 */
async function slowLink(maxRows: number, hiccups: number) {
  const rig = await ingestRig(3, roomy);
  const sizes: number[] = [];
  const apply = rig.database.applyBatch.bind(rig.database);
  rig.database.applyBatch = async (batch: Batch) => {
    sizes.push(batch.heads.length);
    if (sizes.length > hiccups && batch.heads.length <= maxRows) return apply(batch);
    await rig.clock.sleep(5_000);
    return { kind: 'unknown', code: 'CONNECTION' };
  };
  rig.ingest.begin(rig.hold);
  for (let order = 0; order < 300; order += 1) rig.offer(observe(orderAt(order, 0), { bytes: 60_000 }));
  return { ...rig, sizes };
}

// Found by review: both batches in flight were put back and sent again as one of 8 MiB, then with
// what had come meanwhile, up to 500 rows of any size: a link that carried one batch in time, and
// not two, never carried anything again.
it('does not put two batches that failed together into one', async () => {
  const rig = await slowLink(100, 2);
  await rig.clock.advance(60_000);
  expect(Math.max(...rig.sizes)).toBeLessThanOrEqual(69);
  expect(rig.outcomes).toHaveLength(300);
});

it('tries a batch that is too large for its deadline again with half of it, and grows with those that pass', async () => {
  const rig = await slowLink(30, 0);
  await rig.clock.advance(120_000);
  expect(rig.sizes.slice(0, 4)).toEqual([69, 69, 34, 34]);
  expect(rig.sizes).toContain(18);
  expect(rig.outcomes).toHaveLength(300);
  expect(rig.sizes.filter((rows) => rows > 30).length).toBeLessThan(8);
});

it('fills whole batches again once the link is well', async () => {
  const rig = await slowLink(500, 4);
  await rig.clock.advance(60_000);
  for (let order = 300; order < 2_800; order += 1) {
    rig.offer(observe(orderAt(order, 0), { bytes: 60_000 }));
    if (order % 100 === 0) await rig.clock.advance(1_000);
  }
  await rig.clock.advance(10_000);
  expect(rig.outcomes).toHaveLength(2_800);
  expect(rig.sizes.slice(-10)).toContain(69);
});

// Found by review: the verdict of a reclaim that nothing had committed was followed by the next try
// at once: 2,507 tries, each under an epoch of its own, in 10 s.
it('rests between two tries of a batch that breaks its connection', async () => {
  const rig = await ingestRig(5);
  let tries = 0;
  rig.database.applyBatch = async () => {
    tries += 1;
    await rig.clock.sleep(1);
    return { kind: 'unknown', code: 'ECONNRESET' };
  };
  rig.ingest.begin(rig.hold);
  rig.offer(observe(orderAt(1, 0)));
  await rig.clock.advance(10_000);
  // The rig waits 50 ms on average.
  expect(tries).toBeLessThan(300);
});

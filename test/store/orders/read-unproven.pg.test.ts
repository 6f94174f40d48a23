import { expect, it } from 'vitest';
import { provenBatches } from '../../support/orders/proven-batches.ts';
import { batch, storeRig, update } from '../../support/orders/store-rig.ts';

it('the updates behind the last proof of a lane are counted and summed as ingest does it, within their generation', async () => {
  await using rig = await storeRig();
  expect(await rig.store.readUnproven(0, 1)).toBeUndefined();
  const batches = provenBatches(4);
  for (const [index, { updates, heads, unproven }] of batches.entries()) {
    const applied = await rig.store.applyBatch(batch(rig.epoch, index + 1, [], { heads, updates }));
    expect(applied.kind).toBe('committed');
    expect(await rig.store.readUnproven(0, 1)).toEqual(unproven);
  }
  // A batch without a mark, and a text that looks like a proof in an order of the platform.
  const rest = update('o-9', 1, { payload: '{"order":"é \\"proof\\":{"}' });
  await rig.store.applyBatch(batch(rig.epoch, 5, [], { updates: [rest] }));
  const unproven = await rig.store.readUnproven(0, 1);
  expect(unproven).toMatchObject({ after: 3n, count: 3 });
  expect(unproven?.sum).not.toBe(batches[3]?.unproven.sum);
  expect(await rig.store.readUnproven(0, 2)).toBeUndefined();
  expect(await rig.store.readUnproven(1, 1)).toBeUndefined();
});

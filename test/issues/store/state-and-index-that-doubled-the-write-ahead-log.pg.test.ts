// What a user saw: An update took 3 to 4 kB of write-ahead log, twice and more what it says.
import { expect, it } from 'vitest';
import { sampleUpdate } from '../../support/orders/sample-update.ts';
import { batch, head, storeRig, update } from '../../support/orders/store-rig.ts';

const orders = Array.from({ length: 500 }, (_, i) => `7d0c1d1e-5a6b-4c3d-9e8f-${String(i).padStart(12, '0')}`);

it('an update takes less than 1.6 times its own bytes of write-ahead log', async () => {
  await using rig = await storeRig();
  const payloads = [1, 2, 3, 4, 5, 6].map((revision) => sampleUpdate({ revision }).padEnd(1_300));
  const write = async (revision: number) => {
    const payload = payloads[revision - 1] ?? '';
    const state = JSON.stringify(JSON.parse(payload).order);
    const heads = orders.map((id) => head(id, revision, { state }));
    const updates = orders.map((id) => update(id, revision, { payload }));
    expect((await rig.store.applyBatch(batch(rig.epoch, revision, [], { heads, updates }))).kind).toBe('committed');
  };
  const written = async () =>
    Number((await rig.rows<{ bytes: string }>("select pg_current_wal_lsn() - '0/0' as bytes"))[0]?.bytes);
  await write(1);
  await write(2);
  const before = await written();
  for (const revision of [3, 4, 5, 6]) await write(revision);
  expect((await written()) - before).toBeLessThan(1.6 * 1_300 * 4 * orders.length);
});

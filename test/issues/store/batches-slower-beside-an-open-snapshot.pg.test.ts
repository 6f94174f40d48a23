// What a user saw: During a backup the service slowed down from 2,483 to 912 batches a second.

import { expect, it } from 'vitest';
import { batch, storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

// Each batch made a dead version of the lane's row, which the snapshot of a backup kept, and read
// past all of them: 2,483 batches a second became 912 after 9,000.
it('a batch beside an open snapshot reads no more versions than the batches before it', async () => {
  await using rig = await storeRig();
  const batches = 300;
  const backup = await rig.rival();
  await backup.query('begin isolation level repeatable read');
  await backup.query('select 1 from lanes');
  for (let number = 1; number <= batches; number += 1)
    expect((await rig.store.applyBatch(batch(rig.epoch, number, []))).kind).toBe('committed');
  // A session adds what it did to the server's counts when it
  // ends, and while it is idle only every 10 s.
  await rig.store.close();
  const read = `select relname::text as table, seq_scan::int, n_tup_upd::int as updated,
    (select sum(idx_tup_read)::int from pg_stat_user_indexes i where i.relid = t.relid) as entries
    from pg_stat_user_tables t where relname in ('lanes', 'lane_batches') order by relname`;
  const [numbers, lanes] = await eventually(async () => {
    const rows = await rig.rows<{ table: string; seq_scan: number; updated: number; entries: number }>(read);
    expect(rows[0]?.updated).toBe(batches - 1);
    return rows;
  });
  expect(numbers?.entries, 'one entry a batch').toBeLessThan(2 * batches);
  expect(numbers?.seq_scan).toBe(0);
  expect(lanes?.updated, 'the row of the lane is locked, not written').toBeLessThan(5);
  expect(await rig.laneBatch()).toBe(batches);
});

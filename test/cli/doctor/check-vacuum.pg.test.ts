import { expect, it } from 'vitest';
import { checkVacuum } from '../../../src/cli/doctor/check-database.ts';
import { measureStorage } from '../../../src/store/maintenance.ts';
import { eventually } from '../../support/poll.ts';
import { batch, storeRig } from '../../support/store-rig.ts';

/** Batches, each of which writes its lane's row. */
async function commit(rig: Awaited<ReturnType<typeof storeRig>>, count: number): Promise<void> {
  const first = (await rig.laneBatch()) + 1;
  for (let number = first; number < first + count; number += 1)
    expect((await rig.store.applyBatch(batch(rig.epoch, number, []))).kind).toBe('committed');
}

it('a snapshot that stays open keeps the dead versions of a lane, and the doctor says who holds it', async () => {
  await using rig = await storeRig();
  await commit(rig, 50);
  expect(await checkVacuum(rig.pool)).toEqual([]);
  const backup = await rig.rival();
  await backup.query("set application_name = 'nightly dump'");
  await backup.query('begin isolation level repeatable read');
  await backup.query('select 1 from lanes');
  await commit(rig, 1_200);
  // The server adds up what its sessions did about once a second.
  const [finding] = await eventually(async () => {
    expect((await measureStorage(rig.pool)).laneDeadRows).toBeGreaterThan(1_000);
    return checkVacuum(rig.pool);
  });
  expect(finding).toMatchObject({ part: 'vacuum', verdict: 'warn' });
  expect(finding?.detail).toMatch(/^1\d\d\d dead versions of the rows of lanes .*session \d+ \(nightly dump\) for \d+ s/);
  await backup.query('commit');
  await commit(rig, 50);
  await eventually(async () => {
    await commit(rig, 1);
    expect((await measureStorage(rig.pool)).laneDeadRows).toBeLessThan(500);
  });
  expect(await checkVacuum(rig.pool)).toEqual([]);
});

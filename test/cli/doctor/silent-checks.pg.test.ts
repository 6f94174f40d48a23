import { expect, it } from 'vitest';
import { checkVacuum } from '../../../src/cli/doctor/silent-checks.ts';
import { measureStorage } from '../../../src/store/maintenance.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

/** Renewals, each of which writes its lane's row. */
async function renew(rig: Awaited<ReturnType<typeof storeRig>>, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) expect(await rig.lanes.renew(0, rig.epoch)).toBe('renewed');
}

it('a snapshot that stays open keeps the dead versions of a lane, and the doctor says who holds it', async () => {
  await using rig = await storeRig();
  await renew(rig, 50);
  expect(await checkVacuum(rig.pool)).toEqual([]);
  const backup = await rig.rival();
  await backup.query("set application_name = 'nightly dump'");
  await backup.query('begin isolation level repeatable read');
  await backup.query('select 1 from lanes');
  await renew(rig, 1_200);
  // The server adds up what its sessions did about once a second.
  const [finding] = await eventually(async () => {
    expect((await measureStorage(rig.pool)).laneDeadRows).toBeGreaterThan(1_000);
    return checkVacuum(rig.pool);
  });
  expect(finding).toMatchObject({ part: 'vacuum', verdict: 'warn' });
  expect(finding?.detail).toMatch(
    /^1\d\d\d dead versions of the rows of lanes .*session \d+ \(nightly dump\) for \d+ s/,
  );
  await backup.query('commit');
  await renew(rig, 50);
  await eventually(async () => {
    await renew(rig, 1);
    expect((await measureStorage(rig.pool)).laneDeadRows).toBeLessThan(500);
  });
  expect(await checkVacuum(rig.pool)).toEqual([]);
});

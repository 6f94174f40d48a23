import { describe, expect, it } from 'vitest';
import { postgresFleetActions } from '../../../src/store/fleet/fleet-actions.ts';
import { PostgresShardStore } from '../../../src/store/fleet/shard-store.ts';
import { storeRig } from '../../support/orders/store-rig.ts';

const expireAfterMs = 6_000;
const word = { by: 'desk', reason: 'a new kernel', requestId: 'request-1' };

/** The process `first` holds lane 0, and has introduced itself with the weight 2. */
async function actionsRig() {
  const rig = await storeRig();
  const shards = new PostgresShardStore(rig);
  const introduction = { weight: 2, address: undefined, version: '1', draining: false };
  await shards.introduce(0, rig.epoch, introduction);
  const members = async () => {
    const fleet = await shards.look(expireAfterMs);
    return fleet.members.map(({ lane, weight, drained }) => [lane, weight, drained]);
  };
  const lines = () => rig.rows('select principal, action, reason, request_id, detail from audit_log order by id');
  return {
    ...rig,
    shards,
    introduction,
    members,
    lines,
    actions: postgresFleetActions(rig.deps, expireAfterMs),
  };
}

describe('a process that is drained', () => {
  it('counts with weight 0 until it is undrained, whatever it says of itself, and both acts are in the audit trail', async () => {
    await using rig = await actionsRig();
    expect(await rig.actions.drain('first', true, word)).toBe(true);
    expect(await rig.members()).toEqual([[0, 0, true]]);
    await rig.shards.introduce(0, rig.epoch, rig.introduction);
    expect(await rig.members()).toEqual([[0, 0, true]]);
    expect(await rig.actions.drain('first', false, word)).toBe(true);
    expect(await rig.members()).toEqual([[0, 2, false]]);
    const line = {
      principal: 'desk',
      reason: 'a new kernel',
      request_id: 'request-1',
      detail: { instance: 'first', lane: 0 },
    };
    expect(await rig.lines()).toEqual([
      { ...line, action: 'fleet_drain' },
      { ...line, action: 'fleet_undrain' },
    ]);
  });

  it('stays so when it takes its lane once more, and the next process of the lane begins without it', async () => {
    await using rig = await actionsRig();
    await rig.actions.drain('first', true, word);
    expect(await rig.lanes.acquire(0, 'first', expireAfterMs)).toMatchObject({ kind: 'held' });
    expect((await rig.members())[0]?.[2]).toBe(true);
    expect(await rig.lanes.acquire(0, 'second', 0)).toMatchObject({ kind: 'held' });
    expect((await rig.members())[0]?.[2]).toBe(false);
  });

  it('has to live, and to be a process: a name that is not so changes nothing', async () => {
    await using rig = await actionsRig();
    await rig.lanes.acquire(0, 'second/finisher', 0);
    for (const name of ['first', 'second', 'second/finisher'])
      expect(await rig.actions.drain(name, true, word), name).toBe(false);
    await rig.lanes.acquire(0, 'third', 0);
    await rig.rows("update lanes set renewed_at = renewed_at - interval '7 s'");
    expect(await rig.actions.drain('third', true, word)).toBe(false);
    expect(await rig.rows('select from lanes where drained')).toEqual([]);
    expect(await rig.lines()).toEqual([]);
  });
});

describe('a shard that is pinned', () => {
  it('is shown as such until it is unpinned, whoever holds it, and both acts are in the audit trail', async () => {
    await using rig = await actionsRig();
    const pinned = async () =>
      (await rig.shards.look(expireAfterMs)).assignments
        .filter((assignment) => assignment.pinned)
        .map(({ shard }) => shard);
    const { assignments } = await rig.shards.look(expireAfterMs);
    const [held] = (await rig.shards.take(0, rig.epoch, assignments.slice(3, 4))) ?? [];
    if (held === undefined) throw new Error('the shard was not taken');
    expect(await rig.actions.pin(3, true, word)).toBe(true);
    expect(await pinned()).toEqual([3]);
    expect(await rig.shards.free(0, rig.epoch, held)).toBe(true);
    expect(await pinned()).toEqual([3]);
    expect(await rig.actions.pin(3, false, word)).toBe(true);
    expect(await pinned()).toEqual([]);
    expect(await rig.lines()).toMatchObject([
      { principal: 'desk', action: 'fleet_pin', detail: { shard: 3, lane: 0 } },
      { principal: 'desk', action: 'fleet_unpin', detail: { shard: 3, lane: null } },
    ]);
  });

  it('has to exist', async () => {
    await using rig = await actionsRig();
    expect(await rig.actions.pin(16, true, word)).toBe(false);
    expect(await rig.lines()).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import { fleetAnswer } from '../../../src/contract/fleet-answer.ts';
import { fleetDocument } from '../../../src/store/fleet/fleet-document.ts';
import type { Fleet, LaneMember } from '../../../src/store/fleet/shard-store.ts';

const nowMs = Date.parse('2026-11-23T04:00:00.000Z');

function member(lane: number, over: Partial<LaneMember> = {}): LaneMember {
  const holder = `desk-${lane}`;
  return {
    lane,
    holder,
    weight: 1,
    livedMs: 60_000,
    address: `http://${holder}:8080`,
    version: '1',
    draining: false,
    drained: false,
    ...over,
  };
}

/** The shards 0, 1, 2 … of these lanes. */
function fleet(assignments: readonly (number | undefined)[], over: Partial<Fleet> = {}): Fleet {
  return {
    members: [member(0), member(1)],
    assignments: assignments.map((lane, shard) => ({ shard, lane, pinned: shard === 1, epoch: 1n, sinceMs: 1_000 })),
    orphans: [],
    ...over,
  };
}

describe('the fleet', () => {
  it('is well when every shard is held and every lane has its process', () => {
    const shown = fleetDocument(fleet([0, 1, 1, 0]), nowMs);
    expect(shown).toMatchObject({
      verdict: '4 shards, 2 processes, all held',
      allHeld: true,
      shards: 4,
      free: [],
      pinned: [1],
    });
    expect(shown.lanes[0]).toEqual({
      lane: 0,
      state: 'live',
      holder: 'desk-0',
      since: '2026-11-23T03:59:00.000Z',
      weight: 1,
      drained: false,
      unhealthy: null,
      shards: [0, 3],
      address: 'http://desk-0:8080',
      version: '1',
    });
    expect(fleetAnswer.parse(shown)).toEqual(shown);
  });

  it('is well while a process drains, which still does its work', () => {
    const members = [member(0), member(1, { draining: true, weight: 0, address: undefined })];
    const { allHeld, lanes } = fleetDocument(fleet([0, 1], { members }), nowMs);
    expect([allHeld, lanes[1]]).toMatchObject([true, { state: 'draining', address: null, shards: [1] }]);
  });

  it('is not well while a shard is free', () => {
    const { verdict, allHeld, free } = fleetDocument(fleet([0, undefined, 1, undefined]), nowMs);
    expect([verdict, allHeld, free]).toEqual(['4 shards, 2 processes, 2 shards free', false, [1, 3]]);
  });

  it('names a lane without a process, and one that another finishes', () => {
    const members = [member(0), member(2, { holder: 'desk-0/finisher', weight: 0 })];
    const shown = fleetDocument(fleet([0, 1, 1, 2], { members, orphans: [{ lane: 1, idleMs: 8_000 }] }), nowMs);
    expect(shown.verdict).toBe(
      '4 shards, 1 process, lane 1 without a process (2 shards), lane 2 finished by another (1 shard)',
    );
    expect(shown.allHeld).toBe(false);
    expect(shown.lanes.map(({ lane, state, holder }) => [lane, state, holder])).toEqual([
      [0, 'live', 'desk-0'],
      [1, 'without_process', null],
      [2, 'finished_by_another', 'desk-0/finisher'],
    ]);
    expect(shown.lanes[1]?.since).toBe('2026-11-23T03:59:52.000Z');
  });
});

import { describe, expect, it } from 'vitest';
import { planShards } from '../../src/domain/plan-shards.ts';

const options = { steadyMs: 10_000, overdueMs: 1_000 };

/** `lanes`: the holder of each shard. */
const assignmentsOf = (lanes: readonly (number | undefined)[]) =>
  lanes.map((lane, shard) => ({ shard, lane, pinned: false, sinceMs: 0 }));
/** Shards of these holders, all of them pinned. */
const pinned = (lanes: readonly (number | undefined)[]) =>
  assignmentsOf(lanes).map((assignment) => ({ ...assignment, pinned: true }));
const nothing = { take: [], takeOver: [], give: undefined };
const member = (lane: number, weight = 1, livedMs = 60_000) => ({ lane, weight, livedMs });

describe('the plan of a process', () => {
  it('alone is to take every free shard', () => {
    expect(planShards(3, [member(3, 1, 0)], assignmentsOf([undefined, 3, undefined]), options)).toEqual({
      take: [0, 2],
      takeOver: [],
      give: undefined,
    });
  });

  it('leaves what a lane without a live process holds', () => {
    expect(planShards(3, [member(3)], assignmentsOf([8, 3, undefined]), options)).toEqual({
      take: [2],
      takeOver: [],
      give: undefined,
    });
  });

  it('that is not among the members that it sees is to do nothing', () => {
    expect(planShards(3, [member(4)], assignmentsOf([undefined, 3]), options)).toEqual({
      take: [],
      takeOver: [],
      give: undefined,
    });
  });

  it('reaches for other free shards than the others do, each for its part by weight', () => {
    const members = [member(0, 1), member(1, 2), member(2, 1)];
    const free = assignmentsOf(Array.from({ length: 8 }, () => undefined));
    expect(members.map(({ lane }) => planShards(lane, members, free, options).take)).toEqual([
      [4, 5],
      [0, 1, 2, 3],
      [6, 7],
    ]);
  });

  it('gives one above its part, once the other has lived for a while', () => {
    const assignments = assignmentsOf([0, 0, 0, 0]);
    expect(planShards(0, [member(0), member(1, 1, 9_999)], assignments, options).give).toBeUndefined();
    expect(planShards(0, [member(0), member(1, 1, 10_000)], assignments, options).give).toBe(3);
  });

  it('gives no second one while the first is not taken', () => {
    expect(planShards(0, [member(0), member(1)], assignmentsOf([0, 0, 0, undefined]), options).give).toBeUndefined();
  });

  it('gives one of three when the other two have one each, and keeps two', () => {
    const members = [member(0), member(1), member(2)];
    expect(planShards(0, members, assignmentsOf([0, 0, 0, 1]), options).give).toBe(2);
    expect(planShards(0, members, assignmentsOf([0, 0, 2, 1]), options).give).toBeUndefined();
  });

  it('of weight 0 takes nothing and gives one after the other, to a member that has just come as well', () => {
    const members = [member(0, 0), member(1, 1, 0)];
    expect(planShards(0, members, assignmentsOf([0, 0, undefined, 1]), options)).toEqual({
      take: [],
      takeOver: [],
      give: 1,
    });
  });

  it('of weight 0 keeps what it has while nobody wants it', () => {
    expect(planShards(0, [member(0, 0), member(1, 0)], assignmentsOf([0, 0, undefined]), options)).toEqual({
      take: [],
      takeOver: [],
      give: undefined,
    });
  });

  it('gives no pinned shard for balance, and the highest of the others', () => {
    const assignments = [
      ...assignmentsOf([0, 0]),
      ...pinned([0, 0]).map((assignment) => ({ ...assignment, shard: assignment.shard + 2 })),
    ];
    expect(planShards(0, [member(0), member(1)], assignments, options).give).toBe(1);
    expect(planShards(0, [member(0), member(1)], pinned([0, 0, 0, 0]), options).give).toBeUndefined();
  });

  it('of weight 0 gives its pinned shards too', () => {
    expect(planShards(0, [member(0, 0), member(1)], pinned([0, 0]), options).give).toBe(1);
  });

  it('shares with the others what one does not hold by pins', () => {
    const assignments = [
      ...pinned(Array.from({ length: 10 }, () => 0)),
      ...assignmentsOf([1, 1, 1, 1, 1, 2]).map((assignment) => ({ ...assignment, shard: assignment.shard + 10 })),
    ];
    const members = [member(0), member(1), member(2)];
    const plans = members.map(({ lane }) => planShards(lane, members, assignments, options));
    expect(plans).toEqual([
      { take: [], takeOver: [], give: undefined },
      { take: [], takeOver: [], give: 14 },
      { take: [], takeOver: [], give: undefined },
    ]);
  });

  it('that has just come leaves a free shard to one that has lived for a while and lacks shards, too', () => {
    const members = [member(0), member(1), member(2, 1, 500)];
    const assignments = assignmentsOf([0, 0, 0, 0, 1, 1, 1, undefined]);
    expect([1, 2].map((lane) => planShards(lane, members, assignments, options).take)).toEqual([[], [7]]);
    const lacking = assignmentsOf([0, 0, 0, 0, 1, undefined, 0, 0]);
    expect([1, 2].map((lane) => planShards(lane, members, lacking, options).take)).toEqual([[5], []]);
  });

  it('in trouble leaves free shards to those who are well, and nothing is given to it', () => {
    const members = [member(0), { ...member(1), unwell: true }];
    expect(planShards(0, members, assignmentsOf([0, 0, 0, 0]), options).give).toBeUndefined();
    expect(members.map(({ lane }) => planShards(lane, members, assignmentsOf([0, 0, undefined, 1]), options))).toEqual([
      { take: [], takeOver: [2], give: undefined },
      nothing,
    ]);
  });

  it('in trouble takes its part where all are in trouble', () => {
    const members = [member(0), member(1)].map((each) => ({ ...each, unwell: true }));
    expect(planShards(1, members, assignmentsOf([0, undefined]), options).take).toEqual([1]);
  });

  it('that has to go gives also while those who lack shards are in trouble: the others take them over', () => {
    const members = [member(0, 0), { ...member(1), unwell: true }, member(2)];
    expect(planShards(0, members, assignmentsOf([0, 2]), options).give).toBe(0);
    expect(planShards(2, members, assignmentsOf([undefined, 2]), options).takeOver).toEqual([0]);
  });

  it('takes a shard over that stays free too long: first who has least, and then each one', () => {
    const members = [member(0), member(1), { ...member(2, 2) }];
    const assignments = (sinceMs: number) =>
      assignmentsOf([0, 0, 1, 2, undefined, undefined]).map((assignment) => ({ ...assignment, sinceMs }));
    const plansAt = (sinceMs: number) =>
      members.map(({ lane }) => planShards(lane, members, assignments(sinceMs), options));
    expect(plansAt(999).map(({ take, takeOver }) => [take, takeOver])).toEqual([
      [[], []],
      [[], []],
      [[4, 5], []],
    ]);
    expect(plansAt(1_000).map(({ takeOver }) => takeOver)).toEqual([[5], [4], []]);
    expect(plansAt(2_000).map(({ takeOver }) => takeOver)).toEqual([[4, 5], [4], []]);
  });

  it('takes one shard a look that is the turn of another for twice as long, though it is in trouble or lacks shards itself', () => {
    const assignments = assignmentsOf([0, 0, undefined, undefined]).map((assignment) => ({
      ...assignment,
      sinceMs: 2_000,
    }));
    const members = [{ ...member(0), unwell: true }, { ...member(1) }];
    expect(planShards(0, members, assignments, options)).toEqual({ ...nothing, takeOver: [2] });
    const lacking = [member(0), member(1), member(2)];
    expect(
      planShards(
        2,
        lacking,
        assignmentsOf([0, 0, undefined, undefined]).map((assignment) => ({ ...assignment, sinceMs: 2_000 })),
        options,
      ),
    ).toEqual({
      take: [3],
      takeOver: [2],
      give: undefined,
    });
  });

  it('of weight 0 takes free shards where none has a weight and it is only unhealthy, and nobody gives', () => {
    const [drained, unhealthy, heavy] = [
      member(0, 0),
      { ...member(1, 0), spareWeight: 1 },
      { ...member(2, 0), spareWeight: 2 },
    ];
    const members = [drained, unhealthy, heavy];
    const assignments = assignmentsOf([0, 0, 0, 1, undefined, undefined, undefined]);
    expect(members.map(({ lane }) => planShards(lane, members, assignments, options))).toEqual([
      { take: [], takeOver: [], give: undefined },
      { take: [6], takeOver: [], give: undefined },
      { take: [4, 5], takeOver: [], give: undefined },
    ]);
    expect(planShards(1, [...members, member(3)], assignments, options)).toEqual({ take: [], takeOver: [], give: 3 });
  });
});

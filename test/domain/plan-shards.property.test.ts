import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawsOf, type FleetLook, FleetWorld, runFleet, shuffled } from './fleet-world.ts';

const lanes = [0, 1, 2, 3, 4];

/** Each shard is free, or with any of the lanes. */
function scattered(draw: (below: number) => number): FleetWorld {
  const world = new FleetWorld(16);
  for (const lane of lanes) world.join(lane);
  for (const shard of world.rows.keys()) world.rows[shard] = draw(6) === 0 ? undefined : draw(5);
  return world;
}

/**
 * For each lane the members that it sees: itself, and some of the others, with other weights and
 * ages than the others see.
 */
function partialViews(draw: (below: number) => number) {
  return lanes.map((me) =>
    lanes
      .filter((lane) => lane === me || draw(3) > 0)
      .map((lane) => ({ lane, weight: draw(4), livedMs: draw(20_000), ...(draw(4) === 0 && { unwell: true }) })),
  );
}

/** The shards, none of them free for so long that another one takes it over. */
const fresh = (world: FleetWorld) => world.look().assignments.map((assignment) => ({ ...assignment, sinceMs: 0 }));

/** Turns the pins of some shards round, now and then. */
function pinSome(world: FleetWorld, draw: (below: number) => number) {
  if (draw(2) === 0) return;
  for (const shard of world.rows.keys()) {
    if (draw(4) > 0) continue;
    if (!world.pinned.delete(shard)) world.pinned.add(shard);
  }
}

describe('five members and sixteen shards', () => {
  it('share all of them once they see the same, whatever an enemy let them see before', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const draw = drawsOf(seed);
        const world = new FleetWorld(16);
        for (const lane of lanes.slice(0, 1 + draw(5))) world.join(lane);
        const enemy = ({ members, assignments }: FleetLook): FleetLook => ({
          // Members that are missing, some that are gone, weights and ages that are wrong.
          members: lanes
            .filter((lane) => (members.some((each) => each.lane === lane) ? draw(4) > 0 : draw(4) === 0))
            .map((lane) => ({ lane, weight: draw(4), livedMs: draw(30_000), ...(draw(4) === 0 && { unwell: true }) })),
          assignments: assignments.map((assignment) =>
            draw(20) === 0
              ? { ...assignment, lane: draw(2) === 0 ? undefined : draw(5), sinceMs: draw(20_000) }
              : assignment,
          ),
        });
        for (let change = 0; change < 6; change += 1) {
          runFleet(world, 1 + draw(30), 4, draw, draw(2) === 0 ? enemy : undefined);
          pinSome(world, draw);
          const lane = draw(5);
          if (!world.members.has(lane)) world.join(lane, 1 + draw(3));
          else if (draw(2) === 0 && world.members.size > 1) world.die(lane);
          else world.setWeight(lane, 1 + draw(3));
          world.setTrouble(draw(5), draw(2) === 0);
        }
        for (const lane of lanes) world.setTrouble(lane, false);
        expect(world.brokenPins).toEqual([]);
        runFleet(world, 150, 4, draw);
        expect(world.rows.filter((lane) => lane !== undefined && !world.members.has(lane))).toEqual([]);
        expect(world.isBalanced()).toBe(true);
        const { length } = world.takes;
        runFleet(world, 30, 4, draw);
        expect(world.takes).toHaveLength(length);
      }),
      { numRuns: 150 },
    );
  });

  it('never take as their part after they gave, though each sees other members for good', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const draw = drawsOf(seed);
        const world = scattered(draw);
        const seen = partialViews(draw);
        const gave = new Set<number>();
        for (let second = 0; second < 200; second += 1) {
          const [takes, gives] = [world.takes.length, world.gives.length];
          for (const lane of shuffled(lanes, draw))
            world.second([lane], () => ({ members: seen[lane] ?? [], assignments: fresh(world) }));
          for (const { lane, isOver } of world.takes.slice(takes)) if (!isOver) expect(gave).not.toContain(lane);
          for (const { lane } of world.gives.slice(gives)) gave.add(lane);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('leave no shard free for long, though each sees other members for good and some never act', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const draw = drawsOf(seed);
        const world = scattered(draw);
        const seen = partialViews(draw).map((members, me) =>
          members.map((each) => (each.lane === me && each.weight === 0 ? { ...each, weight: 1 } : each)),
        );
        const acting = shuffled(lanes, draw).slice(0, 1 + draw(5));
        for (let second = 0; second < 200; second += 1) {
          for (const lane of shuffled(acting, draw))
            world.second([lane], () => ({ members: seen[lane] ?? [], assignments: world.look().assignments }));
          // After 12 s each one takes one of them a look.
          const longest = Math.max(
            0,
            ...world
              .look()
              .assignments.filter(({ lane }) => lane === undefined)
              .map(({ sinceMs }) => sinceMs),
          );
          expect(longest / 1000 / acting.length).toBeLessThanOrEqual(12 + 16);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('hold all shards while some are in trouble, give these none, and share with them once they are well', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const draw = drawsOf(seed);
        const world = new FleetWorld(16);
        for (const lane of lanes) world.join(lane);
        runFleet(world, 60, 2, draw);
        const troubled = shuffled(lanes, draw).slice(0, 1 + draw(3));
        for (const lane of troubled) world.setTrouble(lane, true);
        runFleet(world, 4, 2, draw);
        const before = new Map(troubled.map((lane) => [lane, world.held(lane)]));
        world.die(lanes.find((lane) => !troubled.includes(lane)) ?? 0);
        runFleet(world, 60, 2, draw);
        expect(world.free()).toBe(0);
        for (const [lane, held] of before) expect(world.held(lane)).toBeLessThanOrEqual(held);
        for (const lane of troubled) world.setTrouble(lane, false);
        runFleet(world, 150, 2, draw);
        expect(world.isBalanced()).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it('come to rest when some are pinned, though each sees other members for good', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const draw = drawsOf(seed);
        const world = scattered(draw);
        pinSome(world, draw);
        const seen = partialViews(draw);
        const go = (seconds: number) => {
          for (let second = 0; second < seconds; second += 1)
            for (const lane of shuffled(lanes, draw))
              world.second([lane], () => ({ members: seen[lane] ?? [], assignments: fresh(world) }));
        };
        go(250);
        const moved = world.takes.length + world.gives.length;
        go(60);
        expect(world.takes.length + world.gives.length).toBe(moved);
        expect(world.brokenPins).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  it('all stay where they are while all are pinned, and those of a member that dies are shared for good', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const draw = drawsOf(seed);
        const world = new FleetWorld(16);
        for (const lane of lanes) world.join(lane, 1 + draw(3));
        for (const shard of world.rows.keys()) world.rows[shard] = draw(5);
        for (const shard of world.rows.keys()) world.pinned.add(shard);
        const lane = draw(5);
        const held = world.held(lane);
        runFleet(world, 60, 2, draw);
        expect([world.takes, world.gives]).toEqual([[], []]);
        world.die(lane);
        runFleet(world, 60, 2, draw);
        expect([world.free(), world.takes.length, world.gives.length]).toEqual([0, held, 0]);
        world.join(lane);
        runFleet(world, 60, 2, draw);
        expect(world.takes).toHaveLength(held);
        world.setWeight((lane + 1) % 5, 0);
        runFleet(world, 60, 2, draw);
        expect(world.held((lane + 1) % 5)).toBe(0);
        expect(world.free()).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  it('are moved only where the part of a member changes, as few as can be', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const draw = drawsOf(seed);
        const world = new FleetWorld(1 + draw(40));
        const shards = world.rows.length;
        for (const lane of lanes.slice(0, 1 + draw(4))) world.join(lane);
        for (let change = 0; change < 5; change += 1) {
          runFleet(world, 250, 0, draw);
          expect(world.isBalanced()).toBe(true);
          const before = world.takes.length;
          const lane = draw(5);
          if (!world.members.has(lane)) {
            world.join(lane);
            runFleet(world, 250, 0, draw);
            expect(world.takes.length - before).toBeLessThanOrEqual(Math.ceil(shards / world.members.size));
          } else if (world.members.size > 1) {
            const held = world.held(lane);
            world.die(lane);
            runFleet(world, 250, 0, draw);
            expect(world.takes.length - before).toBe(held);
          }
        }
      }),
      { numRuns: 12 },
    );
  });
});

it('512 shards of one member are shared with seven that join it, one move for each that they get', () => {
  const draw = drawsOf(7);
  const world = new FleetWorld(512);
  world.join(0);
  runFleet(world, 15, 1, draw);
  for (const lane of [1, 2, 3, 4, 5, 6, 7]) world.join(lane);
  for (let tries = 0; tries < 300 && !world.isBalanced(); tries += 1) runFleet(world, 5, 1, draw);
  expect(world.takes.length).toBe(512 + 7 * 64);
  expect(world.isBalanced()).toBe(true);
});

import { describe, expect, it } from 'vitest';
import { drawsOf, FleetWorld, runFleet } from '../domain/fleet-world.ts';

describe('two hundred members and 4,096 shards', () => {
  const shards = 4096;
  const draw = drawsOf(7);
  const fleetOf = (members: number) => {
    const world = new FleetWorld(shards);
    for (let lane = 0; lane < members; lane += 1) world.join(lane);
    runFleet(world, 15, 1, draw);
    return world;
  };
  /** How many shards are taken until all have their part, and for some seconds after that. */
  const movesOf = (world: FleetWorld, change: () => void, rounds = 20) => {
    const before = world.takes.length;
    change();
    for (let tries = 0; tries < rounds && !world.isBalanced(); tries += 1) runFleet(world, 5, 1, draw);
    expect(world.isBalanced()).toBe(true);
    runFleet(world, 5, 1, draw);
    return world.takes.length - before;
  };

  it('move no more than one part when a member comes, dies or goes', () => {
    const world = fleetOf(200);
    expect(world.takes).toHaveLength(shards);
    const held = world.held(17);
    expect(movesOf(world, () => world.die(17))).toBe(held);
    const part = Math.ceil(shards / 200);
    expect(movesOf(world, () => world.join(200))).toBeLessThanOrEqual(part);
    expect(movesOf(world, () => world.setWeight(5, 0))).toBeLessThanOrEqual(part);
  });

  it('move what a larger weight asks for, and no more', () => {
    const world = fleetOf(200);
    const before = world.held(11);
    const moves = movesOf(world, () => world.setWeight(11, 3), 60);
    expect(world.held(11)).toBe(before + moves);
  });
});

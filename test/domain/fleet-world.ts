import { defaultShardCount } from '../../src/domain/partition.ts';
import { type FleetMember, planShards, type ShardAssignment } from '../../src/domain/plan-shards.ts';

/** As the fleet looked at one second. */
export interface FleetLook {
  readonly members: readonly FleetMember[];
  readonly assignments: readonly ShardAssignment[];
}

interface Member {
  readonly weight: number;
  readonly sinceS: number;
  gaveAtS: number;
  /** It shows a trouble. */
  isTroubled: boolean;
}

/** Looks may be four seconds late, so a shard is overdue only after more. */
const options = { steadyMs: 10_000, overdueMs: 6_000 };
/** With 16 shards; with more of them in proportion. */
const giveEveryS = 5;

/**
 * Members that plan by looks at one table of shards, as processes do: second by second, each one by
 * the look that the test gives it.
 */
export class FleetWorld {
  nowS = 0;
  readonly members = new Map<number, Member>();
  readonly rows: (number | undefined)[];
  /** When each shard was taken or freed last. */
  readonly changedS: number[];
  /** Each taking, oldest first. `isOver`: it was the turn of another. */
  readonly takes: { readonly lane: number; readonly shard: number; readonly isOver: boolean }[] = [];
  readonly gives: { readonly lane: number; readonly shard: number }[] = [];
  readonly pinned = new Set<number>();
  /** Pinned shards that were given by members that did not have to go. */
  readonly brokenPins: number[] = [];

  constructor(shards: number) {
    this.rows = Array.from({ length: shards }, () => undefined);
    this.changedS = Array.from({ length: shards }, () => 0);
  }

  join(lane: number, weight = 1): void {
    this.members.set(lane, { weight, sinceS: this.nowS, gaveAtS: Number.NEGATIVE_INFINITY, isTroubled: false });
  }

  setWeight(lane: number, weight: number): void {
    const member = this.members.get(lane);
    if (member !== undefined) this.members.set(lane, { ...member, weight });
  }

  /** It shows a trouble from now on, or none any more. */
  setTrouble(lane: number, isTroubled: boolean): void {
    const member = this.members.get(lane);
    if (member !== undefined) member.isTroubled = isTroubled;
  }

  /** Its lane was finished by another member: its shards are free. */
  die(lane: number): void {
    this.members.delete(lane);
    for (const [shard, holder] of this.rows.entries()) if (holder === lane) this.set(shard, undefined);
  }

  look(): FleetLook {
    const msSince = (atS = 0) => (this.nowS - atS) * 1000;
    const members = [...this.members].map(([lane, { weight, sinceS, isTroubled }]) => {
      return { lane, weight, livedMs: msSince(sinceS), ...(isTroubled && { unwell: true }) };
    });
    const { pinned, changedS } = this;
    const assignments = this.rows.map((lane, shard) => ({
      shard,
      lane,
      pinned: pinned.has(shard),
      sinceMs: msSince(changedS[shard]),
    }));
    return { members, assignments };
  }

  /**
   * One second: each member in turn acts by its look. The rows permit what their conditions permit:
   * a free shard is taken, a held one is freed by its holder.
   */
  second(order: readonly number[], lookOf: (lane: number) => FleetLook): void {
    this.nowS += 1;
    for (const lane of order) {
      const member = this.members.get(lane);
      if (member === undefined) continue;
      const { members, assignments } = lookOf(lane);
      const { take, takeOver, give } = planShards(lane, members, assignments, options);
      for (const shard of [...take, ...takeOver]) {
        if (this.rows[shard] !== undefined) continue;
        this.set(shard, lane);
        this.takes.push({ lane, shard, isOver: takeOver.includes(shard) });
      }
      if (takeOver.length > 0) member.gaveAtS = this.nowS;
      const restS = giveEveryS * Math.min(1, defaultShardCount / this.rows.length);
      if (give === undefined || (member.weight > 0 && this.nowS - member.gaveAtS < restS)) continue;
      member.gaveAtS = this.nowS;
      if (this.rows[give] !== lane) continue;
      this.set(give, undefined);
      const hasToGo = members.find((each) => each.lane === lane)?.weight === 0;
      if (!hasToGo && assignments[give]?.pinned === true) this.brokenPins.push(give);
      this.gives.push({ lane, shard: give });
    }
  }

  private set(shard: number, lane: number | undefined): void {
    this.rows[shard] = lane;
    this.changedS[shard] = this.nowS;
  }

  held(lane: number): number {
    return this.rows.filter((holder) => holder === lane).length;
  }

  free(): number {
    return this.rows.filter((holder) => holder === undefined).length;
  }

  /**
   * Every shard is held, and each member has its share by weight, rounded down or up, or its pinned
   * shards where these are more. The share is found by halving: as many shards for each weight as
   * there are for those whose pinned ones do not exceed it.
   */
  isBalanced(): boolean {
    const { members, rows, pinned } = this;
    const all = [...members].map(([lane, { weight }]) => {
      return { lane, weight, pins: rows.filter((holder, shard) => holder === lane && pinned.has(shard)).length };
    });
    if (all.every(({ weight }) => weight === 0)) return true;
    let [low, high] = [0, rows.length / Math.min(...all.map(({ weight }) => weight).filter((weight) => weight > 0))];
    for (let step = 0; step < 60; step += 1) {
      const level = (low + high) / 2;
      const needed = all.reduce((sum, { weight, pins }) => sum + (weight > 0 ? Math.max(pins, level * weight) : 0), 0);
      if (needed > rows.length) high = level;
      else low = level;
    }
    const nearly = 1e-6;
    return (
      this.free() === 0 &&
      all.every(({ lane, weight, pins }) => {
        const share = weight === 0 ? 0 : Math.max(pins, low * weight);
        return this.held(lane) >= Math.floor(share + nearly) && this.held(lane) <= Math.ceil(share - nearly);
      })
    );
  }
}

/** Draws from one seed, so that a failure is repeated by it. */
export function drawsOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export function shuffled(all: readonly number[], draw: (below: number) => number): number[] {
  return all
    .map((lane) => ({ lane, place: draw(1e9) }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ lane }) => lane);
}

/**
 * Runs for some seconds; each member acts by a look of up to
 * `lateS` seconds ago, changed by `spoil`.
 */
export function runFleet(
  world: FleetWorld,
  seconds: number,
  lateS: number,
  draw: (below: number) => number,
  spoil = (look: FleetLook) => look,
) {
  const looks: FleetLook[] = [world.look()];
  for (let i = 0; i < seconds; i += 1) {
    world.second(shuffled([...world.members.keys()], draw), () =>
      spoil(looks[Math.max(0, looks.length - 1 - draw(lateS + 1))] ?? world.look()),
    );
    looks.push(world.look());
  }
}

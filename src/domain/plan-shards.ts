/** A live process, by the lane it writes in. */
export interface FleetMember {
  readonly lane: number;
  /** Its part of the shards is in proportion to this; 0: it wants none. */
  readonly weight: number;
  /** For an unhealthy one: its weight for free shards if no member has any other. Left out: 0. */
  readonly spareWeight?: number;
  /**
   * How long it has held its lane. Shards are given only to members that have lived for a while.
   */
  readonly livedMs: number;
  /** It shows a trouble: while another one is well, it is left out. Left out: it is well. */
  readonly unwell?: unknown;
}

/** It wants shards, and shows no trouble. */
export const isWell = ({ weight, unwell }: Pick<FleetMember, 'weight' | 'unwell'>) =>
  weight > 0 && unwell === undefined;

export interface ShardAssignment {
  readonly shard: number;
  /** The lane that holds it; undefined: it is free. */
  readonly lane: number | undefined;
  /** An operator wants it to stay with its process, whatever the balance. */
  readonly pinned: boolean;
  /** For how long it has been as it is: since it was taken, or freed. */
  readonly sinceMs: number;
}

interface ShardPlan {
  /** Free shards to take now as its part, lowest first. */
  readonly take: readonly number[];
  /** Free shards to take now beyond that: their members are in trouble, or do not take them. */
  readonly takeOver: readonly number[];
  /** The shard to give back; undefined: none. */
  readonly give: number | undefined;
}

interface PlanOptions {
  /** A member that has lived shorter is given nothing: it may be one that fails again and again. */
  readonly steadyMs: number;
  /** Members that have their part already take a shard that has been free for so long. */
  readonly overdueMs: number;
}

interface Part extends Pick<FleetMember, 'lane' | 'weight' | 'spareWeight'> {
  readonly steady: boolean;
  readonly isWell: boolean;
  readonly held: number;
  /** How many it shall have. All members' targets add up to the number of shards. */
  readonly target: number;
}

/**
 * The wish of the process that writes in the lane `me`. Every process computes it from its own look
 * at the same rows. The rows decide which shards it then has.
 *
 * A member's part is its share by weight, rounded down or up: up first for those that hold more
 * already, so no shard moves only to exchange remainders. A member takes free shards up to its
 * part. It gives only above its part, and only while another one is below its own.
 *
 * A pinned shard is given only by a member that has to go. If a member holds more pinned shards
 * than its part, these are its part, and the others share the rest. So no member waits for a shard
 * that never comes, and if all are pinned nothing moves.
 *
 * If no member has a weight, none gives, and the free shards go to those that are only unhealthy.
 *
 * For each well member that lacks shards, one free shard may be on its way, given by those with
 * most above their part. A member with weight 0 has to go: it waits neither for that nor for the
 * others to be steady.
 *
 * Each free shard is one member's turn. Well ones come first, and among them those that have lived
 * for a while, since one that has just started is slow. If its turn is with one in trouble, well
 * members that have their part take it over at once. If it stays free for `overdueMs`, that one is
 * frozen or overloaded, and they take it over too. After twice that time each member takes one such
 * shard a look. So a shard is seldom free for longer, though it may have to move once more.
 *
 * Invariant: while the members a process sees, their troubles and the holders of pinned shards stay
 * the same, it takes nothing as its part after it gave, whatever the others see and do. So two
 * processes that see different members pass no shard to and fro, except one that stays free too
 * long. A process that takes one over gives none for a while.
 */
export function planShards(
  me: number,
  members: readonly FleetMember[],
  assignments: readonly ShardAssignment[],
  options: PlanOptions,
): ShardPlan {
  const nothing = { take: [], takeOver: [], give: undefined };
  const parts = partsOf(members, assignments, options.steadyMs);
  const mine = parts.find(({ lane }) => lane === me);
  if (mine === undefined) return nothing;
  const free = assignments.filter(({ lane }) => lane === undefined);
  const turns = turnsOf(parts);
  const isLeftOut = !mine.isWell && parts.some(({ isWell }) => isWell);
  const take = isLeftOut ? [] : free.filter((_, index) => turns[index] === mine);
  const takeOver =
    mine.weight === 0 ? [] : toTakeOver(mine, parts, free, { turns, isLeftOut, overdueMs: options.overdueMs });
  if (take.length + takeOver.length > 0) return { ...nothing, take: shardsOf(take), takeOver: shardsOf(takeOver) };
  if (mine.held <= mine.target || !mayGive(mine, parts, free.length)) return nothing;
  return {
    ...nothing,
    give: assignments.findLast(({ lane, pinned }) => lane === me && (!pinned || mine.weight === 0))?.shard,
  };
}

const shardsOf = (assignments: readonly ShardAssignment[]) => assignments.map(({ shard }) => shard);

function partsOf(
  members: readonly FleetMember[],
  assignments: readonly ShardAssignment[],
  steadyMs: number,
): readonly Part[] {
  const inOrder = members.toSorted((a, b) => a.lane - b.lane);
  const byLane = Map.groupBy(assignments, ({ lane }) => lane);
  const counted = inOrder.map((member) => {
    const own = byLane.get(member.lane) ?? [];
    return { ...member, held: own.length, pinned: own.filter(({ pinned }) => pinned).length };
  });
  const shareOf = sharesByWeight(counted, assignments.length);
  const shares = counted.map((member) => {
    const share = shareOf(member);
    const steady = member.livedMs >= steadyMs;
    return { ...member, steady, isWell: isWell(member), target: Math.floor(share), share };
  });
  if (counted.every(({ weight }) => weight === 0)) return withFreeOnes(shares, assignments);
  const rounded = shares.reduce((sum, { target }) => sum + target, 0);
  const up = shares
    .filter(({ share, target }) => share > target)
    .toSorted(
      (a, b) =>
        Number(b.held > b.target) - Number(a.held > a.target) || (b.share % 1) - (a.share % 1) || a.lane - b.lane,
    )
    .slice(0, assignments.length - rounded);
  const upLanes = new Set(up.map(({ lane }) => lane));
  return shares.map((each) => ({ ...each, target: each.target + (upLanes.has(each.lane) ? 1 : 0) }));
}

/**
 * All want none: each one keeps the shards it holds, and the free ones go to those that are only
 * unhealthy. A shard is better with an unhealthy member than with none.
 */
function withFreeOnes(parts: readonly Part[], assignments: readonly ShardAssignment[]): readonly Part[] {
  const spare = parts.flatMap(({ lane, held, spareWeight: weight = 0 }) =>
    weight > 0 ? [{ lane, held, weight }] : [],
  );
  const dealt = Map.groupBy(
    leastLoaded(spare, assignments.filter(({ lane }) => lane === undefined).length),
    (lane) => lane,
  );
  return parts.map((part) => ({ ...part, target: part.held + (dealt.get(part.lane)?.length ?? 0) }));
}

interface Counted {
  readonly lane: number;
  readonly weight: number;
  readonly pinned: number;
}

/**
 * Each member's share, not rounded. If its pinned shards are more than its share by weight, it has
 * these. The others' shares are less then, so they are looked at again.
 */
function sharesByWeight(members: readonly Counted[], shards: number): (member: Counted) => number {
  let sharing = members.filter(({ weight }) => weight > 0);
  let left = shards;
  for (;;) {
    const weights = sharing.reduce((sum, { weight }) => sum + weight, 0);
    const byWeight = ({ weight }: Counted) => (left * weight) / weights;
    const over = sharing.filter((member) => member.pinned > byWeight(member));
    if (over.length === 0) {
      const lanes = new Set(sharing.map(({ lane }) => lane));
      return (member) => (lanes.has(member.lane) ? byWeight(member) : member.weight > 0 ? member.pinned : 0);
    }
    sharing = sharing.filter((member) => !over.includes(member));
    left -= over.reduce((sum, { pinned }) => sum + pinned, 0);
  }
}

/**
 * Whose turn each free shard is, from the lowest on: the quickest first, and among them those that
 * lack most. Each reaches for others, so two seldom want the same one.
 */
function turnsOf(parts: readonly Part[]): readonly Part[] {
  return parts
    .filter(({ held, target }) => held < target)
    .toSorted((a, b) => quicknessOf(b) - quicknessOf(a) || b.target - b.held - (a.target - a.held) || a.lane - b.lane)
    .flatMap((part) => Array.from({ length: part.target - part.held }, () => part));
}

const quicknessOf = ({ isWell, steady }: Part) => 2 * Number(isWell) + Number(steady);

interface Turns {
  readonly turns: readonly Part[];
  readonly isLeftOut: boolean;
  readonly overdueMs: number;
}

function toTakeOver(
  mine: Part,
  parts: readonly Part[],
  free: readonly ShardAssignment[],
  { turns, isLeftOut, overdueMs }: Turns,
) {
  const left = free.filter((_, index) => isLeftOut || turns[index] !== mine);
  const last = left.find(({ sinceMs }) => sinceMs >= 2 * overdueMs);
  if (isLeftOut || mine.held < mine.target) return last === undefined ? [] : [last];
  const over = free.filter(({ sinceMs }, index) => turns[index]?.isWell === false || sinceMs >= overdueMs);
  const takers = leastLoaded(
    parts.filter(({ isWell, held, target }) => isWell && held >= target),
    over.length,
  );
  return over.filter((assignment, index) => takers[index] === mine.lane || assignment === last);
}

type Loaded = Pick<Part, 'lane' | 'held' | 'weight'>;

/**
 * The lanes that get so many shards one after the other, each time the one with least for its
 * weight.
 */
function leastLoaded(all: readonly Loaded[], shards: number): readonly number[] {
  const more = new Map<number, number>();
  const loadOf = ({ lane, held, weight }: Loaded) => (held + (more.get(lane) ?? 0)) / weight;
  return Array.from({ length: all.length === 0 ? 0 : shards }, () => {
    const { lane } = all.reduce((least, each) => (loadOf(each) < loadOf(least) ? each : least));
    more.set(lane, (more.get(lane) ?? 0) + 1);
    return lane;
  });
}

function mayGive(mine: Part, parts: readonly Part[], free: number): boolean {
  const leaves = mine.weight === 0;
  const lacking = parts.filter(
    ({ held, target, steady, isWell }) => held < target && ((steady && isWell) || leaves),
  ).length;
  if (leaves) return lacking > 0;
  const surplus = mine.held - mine.target;
  const before = parts.filter(
    ({ held, target, lane }) => held - target > surplus || (held - target === surplus && lane < mine.lane),
  );
  return before.length < lacking - free;
}

/** A live process, by the lane that it writes in. */
export interface FleetMember {
  readonly lane: number;
  /** Its part of the shards is in proportion to this; 0: it wants none. */
  readonly weight: number;
  /** Of one that is unfit: its weight for free shards where no member has any other. Left out: 0. */
  readonly spareWeight?: number;
  /** How long it has held its lane. Shards are given only to members that have lived for a while. */
  readonly livedMs: number;
}

export interface ShardSeat {
  readonly shard: number;
  /** The lane that holds it; undefined: it is free. */
  readonly lane: number | undefined;
  /** An operator wants it to stay with its process, whatever the balance. */
  readonly pinned: boolean;
}

interface ShardPlan {
  /** Free shards to take now, lowest first. */
  readonly take: readonly number[];
  /** The shard to give back; undefined: none. */
  readonly give: number | undefined;
}

interface PlanOptions {
  /** A member that has lived shorter is given nothing: it may be one that fails again and again. */
  readonly settledMs: number;
}

interface Part {
  readonly lane: number;
  readonly weight: number;
  readonly settled: boolean;
  readonly held: number;
  /** How many it shall have. Those of all members add up to the number of shards. */
  readonly target: number;
}

/**
 * The wish of the process that writes in the lane `me`. Every process computes it from its own look at the same rows; which shards it then has, their rows decide.
 *
 * The part of a member is its share by weight, rounded down or up: up first for those who hold more already, so that no shard moves only to exchange remainders. A
 * member takes free shards up to its part. It gives only above its part, and only while another one is below its own.
 *
 * A pinned shard is given only by a member that has to go. One that holds more pinned shards than its part has these as its part, and the others share the rest: so
 * no member waits for a shard that never comes, and where all are pinned nothing moves.
 *
 * Where no member has a weight, none gives, and the free shards go to those that are only unfit.
 *
 * Invariant: while the members that a process sees and the holders of pinned shards stay the same, it takes nothing after it gave, whatever the others see and do.
 * So two processes that see different members never pass a shard to and fro; at worst a shard stays free until both see the same.
 *
 * For each member that lacks shards, one free shard may be on its way, given by those who have most above their part: so a member that lives and takes nothing
 * costs one shard, not its whole part. A member of weight 0 has to go: it waits neither for that nor for the others to have settled.
 */
export function planShards(
  me: number,
  members: readonly FleetMember[],
  seats: readonly ShardSeat[],
  { settledMs }: PlanOptions,
): ShardPlan {
  const parts = partsOf(members, seats, settledMs);
  const mine = parts.find(({ lane }) => lane === me);
  if (mine === undefined || mine.held === mine.target) return { take: [], give: undefined };
  const free = seats.filter(({ lane }) => lane === undefined).map(({ shard }) => shard);
  if (mine.held < mine.target) return { take: toTake(mine, parts, free), give: undefined };
  const highest = seats.findLast(({ lane, pinned }) => lane === me && (!pinned || mine.weight === 0))?.shard;
  return { take: [], give: mayGive(mine, parts, free.length) ? highest : undefined };
}

function partsOf(members: readonly FleetMember[], seats: readonly ShardSeat[], settledMs: number): readonly Part[] {
  const inOrder = members.toSorted((a, b) => a.lane - b.lane);
  const counts = new Map(inOrder.map(({ lane }) => [lane, { held: 0, pinned: 0 }]));
  for (const { lane, pinned } of seats) {
    const count = lane === undefined ? undefined : counts.get(lane);
    if (count === undefined) continue;
    count.held += 1;
    if (pinned) count.pinned += 1;
  }
  const counted = inOrder.map((member) => ({ ...member, ...(counts.get(member.lane) ?? { held: 0, pinned: 0 }) }));
  const shareOf = sharesByWeight(counted, seats.length);
  const shares = counted.map((member) => {
    const { lane, weight, held } = member;
    const share = shareOf(member);
    return { lane, weight, settled: member.livedMs >= settledMs, held, target: Math.floor(share), share };
  });
  if (counted.every(({ weight }) => weight === 0)) return withFreeOnes(shares, inOrder, seats);
  const rounded = shares.reduce((sum, { target }) => sum + target, 0);
  const up = shares
    .filter(({ share, target }) => share > target)
    .toSorted((a, b) => Number(b.held > b.target) - Number(a.held > a.target) || (b.share % 1) - (a.share % 1) || a.lane - b.lane)
    .slice(0, seats.length - rounded);
  const upLanes = new Set(up.map(({ lane }) => lane));
  return shares.map((each) => ({ ...each, target: each.target + (upLanes.has(each.lane) ? 1 : 0) }));
}

/** All want none: each one keeps what it holds, and the free shards go to those that are only unfit. A shard is better with one of them than with none. */
function withFreeOnes(parts: readonly Part[], members: readonly FleetMember[], seats: readonly ShardSeat[]): readonly Part[] {
  const targets = new Map(parts.map(({ lane, held }) => [lane, held]));
  const spare = members.map(({ lane, spareWeight = 0 }) => ({ lane, spareWeight })).filter(({ spareWeight }) => spareWeight > 0);
  const loadOf = ({ lane, spareWeight }: { lane: number; spareWeight: number }) => (targets.get(lane) ?? 0) / spareWeight;
  for (const seat of spare.length === 0 ? [] : seats) {
    if (seat.lane !== undefined) continue;
    const { lane } = spare.reduce((least, each) => (loadOf(each) < loadOf(least) ? each : least));
    targets.set(lane, (targets.get(lane) ?? 0) + 1);
  }
  return parts.map((part) => ({ ...part, target: targets.get(part.lane) ?? part.held }));
}

interface Counted {
  readonly lane: number;
  readonly weight: number;
  readonly pinned: number;
}

/** The share of each member, not rounded. One whose pinned shards are more than its share by weight has these; the shares of the others are less then, so they are looked at again. */
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

/** The free shards are dealt out from the lowest on, first to those that lack most: each member reaches for others, so two seldom want the same one. */
function toTake(mine: Part, parts: readonly Part[], free: readonly number[]): readonly number[] {
  const lack = mine.target - mine.held;
  const before = parts
    .filter(({ target, held, lane }) => target - held > lack || (target - held === lack && lane < mine.lane))
    .reduce((sum, { target, held }) => sum + target - held, 0);
  return free.slice(before, before + lack);
}

function mayGive(mine: Part, parts: readonly Part[], free: number): boolean {
  const leaves = mine.weight === 0;
  const lacking = parts.filter(({ held, target, settled }) => held < target && (settled || leaves)).length;
  if (leaves) return lacking > 0;
  const surplus = mine.held - mine.target;
  const before = parts.filter(
    ({ held, target, lane }) => held - target > surplus || (held - target === surplus && lane < mine.lane),
  );
  return before.length < lacking - free;
}

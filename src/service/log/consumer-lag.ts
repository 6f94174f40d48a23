import type { Admin } from 'kafkajs';
import { inParallel } from '../../runtime/waiting.ts';

interface GroupLag {
  readonly groupId: string;
  readonly topics: readonly {
    readonly topic: string;
    /** Offsets up to the end without a commit by the group. */
    readonly lag: bigint;
    readonly partitions: number;
    /** Partitions without a committed offset: not in `lag`. */
    readonly uncommitted: number;
  }[];
}

export interface ConsumerLag {
  /** By their id, the groups with committed offsets on at least one topic. */
  readonly groups: readonly GroupLag[];
  /** Groups with unreadable offsets: their coordinator moves, or we have no right. */
  readonly unread: readonly string[];
  /** Groups beyond `maxGroups`. */
  readonly notAsked: number;
}

interface ConsumerLagOptions {
  readonly topics: readonly string[];
  /** Each group costs two requests. */
  readonly maxGroups: number;
  readonly width: number;
}

type Committed = Awaited<ReturnType<Admin['fetchOffsets']>>;
type Ends = ReadonlyMap<number, { readonly low: bigint; readonly high: bigint }>;

/**
 * The consumer groups' lag on these topics. The groups' offsets are read before the topics' ends,
 * so the lag is never shown too small. Rejects when the topics can't be read.
 */
export async function readConsumerLag(
  admin: Pick<Admin, 'listGroups' | 'fetchOffsets' | 'fetchTopicOffsets'>,
  { topics, maxGroups, width }: ConsumerLagOptions,
): Promise<ConsumerLag> {
  const { groups } = await admin.listGroups();
  // Groups of other kinds (connect, share) have no such offsets; a group that only commits has no
  // kind.
  const ids = groups
    .filter(({ protocolType }) => ['consumer', ''].includes(protocolType))
    .map(({ groupId }) => groupId);
  const asked = [...new Set(ids)].sort().slice(0, maxGroups);
  const committed = new Map<string, Committed>();
  const unread: string[] = [];
  await inParallel(asked, width, async (groupId) => {
    try {
      committed.set(groupId, await admin.fetchOffsets({ groupId, topics: [...topics] }));
    } catch {
      unread.push(groupId);
    }
  });
  const ends = new Map<string, Ends>();
  await inParallel(topics, width, async (topic) => {
    const offsets = await admin.fetchTopicOffsets(topic);
    ends.set(
      topic,
      new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }])),
    );
  });
  const lags = asked.map((groupId) => ({ groupId, topics: lagsOf(topics, committed.get(groupId) ?? [], ends) }));
  return {
    groups: lags.filter((group) => group.topics.length > 0),
    unread: unread.sort(),
    notAsked: new Set(ids).size - asked.length,
  };
}

/** Only topics with a commit by the group. */
function lagsOf(topics: readonly string[], committed: Committed, ends: ReadonlyMap<string, Ends>): GroupLag['topics'] {
  return topics.flatMap((topic) => {
    const of = committed.find((each) => each.topic === topic);
    const offsets = new Map(of?.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]));
    const partitions = [...(ends.get(topic) ?? [])].map(([partition, end]) =>
      lagOf(offsets.get(partition) ?? -1n, end),
    );
    const known = partitions.filter((lag) => lag !== undefined);
    if (known.length === 0) return [];
    const lag = known.reduce((sum, each) => sum + each, 0n);
    return [{ topic, lag, partitions: partitions.length, uncommitted: partitions.length - known.length }];
  });
}

/**
 * Undefined: nothing was committed. Records removed by retention can't be read any more, and are no
 * lag.
 */
function lagOf(committed: bigint, { low, high }: { readonly low: bigint; readonly high: bigint }): bigint | undefined {
  if (committed < 0n) return undefined;
  const from = committed < low ? low : committed;
  return from > high ? 0n : high - from;
}

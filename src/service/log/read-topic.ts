import { Backoff } from '../../runtime/backoff.ts';
import { abortWith, Wakeup } from '../../runtime/waiting.ts';
import {
  type FollowDeps,
  type Follower,
  type FollowOptions,
  FollowPosition,
  followTopic,
  type Jump,
  type TopicRecord,
} from './follow-topic.ts';

interface ReadTopicOptions extends FollowOptions {
  /**
   * `end`: stops after the records from before the reading began. Otherwise it continues until
   * `signal` aborts.
   */
  readonly until?: 'end';
  readonly signal?: AbortSignal;
  /**
   * Called with each failure. The reader reconnects by itself and continues at its position.
   * Without it the log has a line a minute.
   */
  readonly onFailure?: (err: unknown) => void;
  /** Records are gone unread. Without it the log has a warning. */
  readonly onJump?: (jump: Jump) => void;
}

/**
 * A topic's records, each once, in order within a partition. `onJump` names those gone before
 * they were read. Reconnects by itself with backoff; ends when `signal` aborts, or at the
 * end if `until` says so. A broker never makes it throw. Memory: one fetch (10 MB), since the next
 * one waits until the reader has taken the last.
 */
export async function* readTopic(
  deps: FollowDeps,
  options: ReadTopicOptions,
): AsyncGenerator<TopicRecord, void, undefined> {
  const ended = new AbortController();
  using over = abortWith(ended.signal, ...(options.signal === undefined ? [] : [options.signal]));
  const position = new FollowPosition();
  const wakeup = new Wakeup();
  let waiting: { records: TopicRecord[]; taken: () => void } | undefined;
  over.signal.addEventListener('abort', () => waiting?.taken(), { once: true });
  const give = (records: TopicRecord[]) =>
    new Promise<void>((taken) => {
      waiting = { records, taken };
      if (over.signal.aborted) taken();
      wakeup.wake();
    });
  const warn = (jump: Jump) =>
    deps.log.warn(
      { topic: options.topic, ...jump },
      'records were deleted before they were read, or the topic was made anew',
    );
  const follower = { position, give, onProgress: () => wakeup.wake(), onJump: options.onJump ?? warn };
  const following = followAlways(deps, options, follower, over.signal).finally(() => wakeup.wake());
  try {
    while (!over.signal.aborted) {
      if (waiting !== undefined) {
        const { records, taken } = waiting;
        waiting = undefined;
        for (const record of records) {
          // Stops exactly at the end as seen at the beginning: later records are for the next
          // reading.
          if (options.until === 'end' && record.offset >= (position.end.get(record.partition) ?? 0n)) continue;
          yield record;
        }
        taken();
      }
      if (options.until === 'end' && position.reachedEnd) return;
      if (waiting === undefined) await wakeup.wait();
    }
  } finally {
    ended.abort();
    await following;
  }
}

/**
 * `COORDINATOR_LOAD_IN_PROGRESS`, `COORDINATOR_NOT_AVAILABLE` and `NOT_COORDINATOR` in Kafka's
 * protocol.
 */
const coordinatorCodes: ReadonlySet<unknown> = new Set([14, 15, 16]);

/**
 * No broker leads the group yet. A new cluster makes its group topic when the first consumer asks:
 * for some seconds it knows no leader, and then the leader reads its part of that topic.
 */
export function isWithoutLeader(err: unknown): boolean {
  if (!(err instanceof Error)) return false;
  return err.name === 'KafkaJSGroupCoordinatorNotFound' || ('code' in err && coordinatorCodes.has(err.code));
}

const newClusterFailures = 4;

/** kafkajs hides why no broker named a coordinator of our group. */
function hintFor(err: unknown): string {
  if (!isWithoutLeader(err)) return '';
  return '. Kafka named no coordinator of the group: none has started yet, or this user of Kafka may not; grant it Read on groups that begin with its client id (docs/security.md)';
}

/**
 * The least time between two lines about failures: a broker down for an hour is one line a
 * minute, with the count.
 */
const sayEveryMs = 60_000;

async function followAlways(
  deps: FollowDeps,
  options: ReadTopicOptions,
  follower: Follower,
  signal: AbortSignal,
): Promise<void> {
  const backoff = new Backoff(deps.random, { firstMs: 200, maxMs: 5000 });
  let failures = 0;
  let sayAtMs = Number.NEGATIVE_INFINITY;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    const before = [...follower.position.next.values()].join();
    try {
      await followTopic(deps, options, follower, signal, attempt);
    } catch (err) {
      if (signal.aborted) return;
      if ([...follower.position.next.values()].join() !== before) {
        backoff.reset();
        failures = 0;
      }
      failures += 1;
      const nowMs = deps.clock.monotonicMs();
      if (options.onFailure !== undefined) options.onFailure(err);
      else if (isWithoutLeader(err) && failures <= newClusterFailures)
        deps.log.debug({ err, topic: options.topic, failures }, 'Kafka has no leader of our group yet; asking again');
      else if (nowMs >= sayAtMs) {
        deps.log.warn(
          { err, topic: options.topic, failures },
          `reading a topic failed; connecting again${hintFor(err)}`,
        );
        sayAtMs = nowMs + sayEveryMs;
      }
      await deps.clock.sleep(backoff.nextMs(), signal);
    }
  }
}

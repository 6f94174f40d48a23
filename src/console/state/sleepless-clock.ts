/** The two clocks may drift apart by so much between two looks; more is a sleep of the machine. */
const leastSleepMs = 5_000;

/**
 * A monotonic clock that goes on while the machine sleeps. That of the browser stands still then,
 * on Linux and macOS: after a night an order of the evening would be a second old. The reader's own
 * clock goes on, and says how long the sleep was. If it was set forward instead, a stream is
 * connected again, and nothing else follows.
 */
export function sleeplessClock(awakeMs: () => number, wallMs: () => number): () => number {
  let asleepMs = 0;
  let behindMs = wallMs() - awakeMs();
  return () => {
    const awake = awakeMs();
    const behind = wallMs() - awake;
    if (behind - behindMs > leastSleepMs) asleepMs += behind - behindMs;
    behindMs = behind;
    return awake + asleepMs;
  };
}

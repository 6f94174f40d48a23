import { describe, expect, it } from 'vitest';
import { type Act, CommitCheckpoint, Lease } from '../../src/runtime/lease.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

it('may not act before the first renewal', () => {
  expect(new Lease(new VirtualClock(), 3000).mayAct()).toBe(false);
});

it('may act until the last renewal is too old, counted from when it was sent', async () => {
  const clock = new VirtualClock();
  const lease = new Lease(clock, 3000);
  const sentMs = clock.monotonicMs();
  await clock.advance(2000);
  lease.confirm(7n, sentMs);
  expect([lease.epoch, lease.mayAct()]).toEqual([7n, true]);
  await clock.advance(999);
  expect(lease.mayAct()).toBe(true);
  await clock.advance(1);
  expect(lease.mayAct()).toBe(false);
});

it('is not shortened by an answer that overtook a later one', async () => {
  const clock = new VirtualClock();
  const lease = new Lease(clock, 3000);
  await clock.advance(1000);
  lease.confirm(7n, 1000);
  lease.confirm(7n, 0);
  await clock.advance(2999);
  expect(lease.mayAct()).toBe(true);
});

it('ends at once when the lane is lost, and comes back with a new renewal only', async () => {
  const clock = new VirtualClock();
  const lease = new Lease(clock, 3000);
  lease.confirm(7n, clock.monotonicMs());
  lease.lose();
  expect(lease.mayAct()).toBe(false);
  lease.confirm(9n, clock.monotonicMs());
  expect([lease.epoch, lease.mayAct()]).toEqual([9n, true]);
});

it('does not listen to the wall clock', async () => {
  const clock = new VirtualClock();
  const lease = new Lease(clock, 3000);
  lease.confirm(7n, clock.monotonicMs());
  clock.stepWall(3_600_000);
  expect(lease.mayAct()).toBe(true);
  await clock.advance(3000);
  clock.stepWall(-7_200_000);
  expect(lease.mayAct()).toBe(false);
});

// A batch leaves the row alone for three seconds (`enter_lane`), so its row may be that much older.
it.each([
  [6000, 2999],
  [5000, 1999],
  [4000, 999],
])(
  'after a batch alone it ends before others may take the lane, which they may after %d ms',
  async (expireMs, goodMs) => {
    const clock = new VirtualClock();
    const lease = new Lease(clock, 3000, undefined, expireMs);
    lease.take(7n, clock.monotonicMs() - 10_000);
    lease.confirmByBatch(clock.monotonicMs());
    await clock.advance(goodMs);
    expect(lease.mayAct()).toBe(true);
    await clock.advance(1);
    expect(lease.mayAct()).toBe(false);
  },
);

const sent = (n: number): Act => ['sent', `tm-${n}`];
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

function seen(...acts: readonly number[]): CommitCheckpoint {
  const checkpoint = new CommitCheckpoint();
  checkpoint.sawLane({ generation: 1, epoch: 1n, batch: 0n });
  for (const n of acts) checkpoint.saw(sent(n));
  return checkpoint;
}

it('remembers the last eight acts of those that a renewal has compared, and all since', () => {
  const checkpoint = seen(...numbers(1, 20));
  const compared = checkpoint.newest?.acts ?? [];
  expect(compared).toEqual(numbers(1, 20).map(sent));
  for (const n of numbers(21, 23)) checkpoint.saw(sent(n));
  checkpoint.compared(compared);
  expect(checkpoint.newest?.acts).toEqual(numbers(16, 23).map(sent));
  for (const n of numbers(24, 40)) checkpoint.saw(sent(n));
  checkpoint.compared(compared);
  expect(checkpoint.newest?.acts).toEqual(numbers(21, 40).map(sent));
});

it('lets no flood of acts push out those that no renewal has compared', () => {
  const { newest } = seen(...numbers(1, 1000));
  expect(newest?.acts).toEqual([...numbers(1, 63), 1000].map(sent));
});

it('remembers no act before it has seen the lane, nor one of an earlier generation', () => {
  const checkpoint = new CommitCheckpoint();
  checkpoint.saw(sent(1));
  checkpoint.compared([]);
  expect(checkpoint.newest).toBeUndefined();
  const old = seen(1, 2);
  const acts = old.newest?.acts ?? [];
  old.sawLane({ generation: 2, epoch: 1n, batch: 0n });
  old.compared(acts);
  expect(old.newest?.acts).toEqual([]);
});

describe('issue: A resume that was acknowledged while its process changed its lane could be lost unnoticed.', () => {
  it('remembers the acts of before and of meanwhile under the next lane, unless a generation has begun', () => {
    const lease = new Lease(new VirtualClock(), 3000);
    const { checkpoint } = lease;
    const changeLane = (lane: number, generation: number) => {
      checkpoint.saw(sent(2 * lane));
      lease.enter(lane);
      checkpoint.saw(sent(2 * lane + 1));
      checkpoint.sawLane({ generation, epoch: 1n, batch: 0n });
      return checkpoint.newest?.acts;
    };
    lease.enter(1);
    checkpoint.sawLane({ generation: 3, epoch: 1n, batch: 0n });
    expect(changeLane(2, 3)).toEqual([4, 5].map(sent));
    expect(changeLane(3, 3)).toEqual([4, 5, 6, 7].map(sent));
    expect(changeLane(4, 4)).toEqual([]);
  });
});

describe('issue: After the database lost commits, a process held a lane for ever and did nothing with it.', () => {
  // Found by seed 3773 of the runs in which the database loses commits: it came back without two
  // takings of the lane, so the next one got an epoch that the process had held before. Its lease
  // took that for a late answer to its last term: it renewed the lane for ever, so that no other
  // process took it, and did nothing with it.
  it.each([
    ['the same epoch', 7n],
    ['a lower one', 4n],
  ])('allows to act under %s as the term that was lost', async (_, epoch) => {
    const clock = new VirtualClock();
    const lease = new Lease(clock, 3000);
    lease.take(7n, clock.monotonicMs());
    lease.lose();
    lease.confirm(7n, clock.monotonicMs());
    expect(lease.mayAct()).toBe(false);
    lease.take(epoch, clock.monotonicMs());
    expect([lease.epoch, lease.mayAct()]).toEqual([epoch, true]);
    await clock.advance(2999);
    lease.confirm(epoch, clock.monotonicMs());
    await clock.advance(2999);
    expect(lease.mayAct()).toBe(true);
  });
});

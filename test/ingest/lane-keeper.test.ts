import { describe, expect, it } from 'vitest';
import { LaneKeeper } from '../../src/ingest/lane-keeper.ts';
import type { LaneHold } from '../../src/ingest/lane-store.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { Lease } from '../../src/runtime/lease.ts';
import { seededRandom } from '../../src/runtime/random.ts';
import { MemoryDatabase, noDatabaseFaults } from '../simulation/memory-database.ts';
import { testLog } from '../support/test-log.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const options = { lane: 0, renewEveryMs: 2000, expireAfterMs: 6000, acquireEveryMs: 1000 };

function shared() {
  const clock = new VirtualClock();
  return { clock, database: new MemoryDatabase(clock, seededRandom(1)) };
}

function keeperOf({ clock, database }: ReturnType<typeof shared>, holder: string, begin?: () => Promise<void>) {
  const calls: string[] = [];
  const lease = new Lease(clock, 3000);
  const tenant = {
    begin: async (hold: LaneHold) => {
      calls.push(`begin ${hold.epoch}`);
      await begin?.();
    },
    end: async () => {
      calls.push(`end${lease.mayAct() ? ' while acting' : ''}`);
    },
  };
  const log = testLog.child({}, { level: 'silent' });
  const keeper = new LaneKeeper(
    { store: database, lease, tenant, clock, metrics: createMetrics().ingest, log },
    { ...options, holder },
  );
  return { keeper, lease, calls };
}

describe('the keeper of the lane', () => {
  it('takes a free lane at once, and renews it for as long as it runs', async () => {
    const world = shared();
    const { keeper, lease, calls } = keeperOf(world, 'a');
    await keeper.start();
    await world.clock.advance(60_000);
    expect(keeper.state).toBe('held');
    expect(lease.mayAct()).toBe(true);
    expect(calls).toEqual(['begin 1']);
  });

  it('stands by while another holds the lane, and takes it at once when it is given back', async () => {
    const world = shared();
    const a = keeperOf(world, 'a');
    const b = keeperOf(world, 'b');
    await a.keeper.start();
    await world.clock.advance(100);
    await b.keeper.start();
    await world.clock.advance(10_000);
    expect([b.keeper.state, b.keeper.otherHolder]).toEqual(['standby', 'a']);
    const drained = a.keeper.drain(new AbortController().signal);
    await world.clock.advance(1500);
    await drained;
    expect(a.calls).toEqual(['begin 1', 'end']);
    expect(b.calls).toEqual(['begin 3']);
  });

  it('takes the lane from a holder that stopped renewing within 10 s, after the holder stopped acting', async () => {
    const world = shared();
    const a = keeperOf(world, 'a');
    const b = keeperOf(world, 'b');
    await a.keeper.start();
    await world.clock.advance(100);
    await b.keeper.start();
    const renew = world.database.renew.bind(world.database);
    world.database.renew = (lane, epoch) => (epoch === 1n ? new Promise(() => undefined) : renew(lane, epoch));
    let stoppedActing = false;
    const taken = await world.clock.advanceUntil(() => {
      stoppedActing ||= !a.lease.mayAct();
      return b.calls.length > 0;
    }, 10_000);
    expect(taken).toBe(true);
    expect(stoppedActing).toBe(true);
  });

  it('ends its tenant, without a right to act, when it finds the lane taken', async () => {
    const world = shared();
    const a = keeperOf(world, 'a');
    await a.keeper.start();
    await world.clock.advance(100);
    const rival = world.database.acquire(0, 'rival', 0);
    await world.clock.advance(2100);
    await rival;
    expect(a.calls).toEqual(['begin 1', 'end']);
    expect(a.keeper.state).toBe('standby');
  });

  it('does not take its own reclaim for a loss', async () => {
    const world = shared();
    const a = keeperOf(world, 'a');
    await a.keeper.start();
    await world.clock.advance(1990);
    for (let i = 0; i < 20; i += 1) {
      const reclaimed = a.keeper.reclaim();
      await world.clock.advance(7);
      expect(await reclaimed).toMatchObject({ batch: 0n });
    }
    await world.clock.advance(10_000);
    expect(a.calls).toEqual(['begin 1']);
    expect(a.lease.epoch).toBe(21n);
  });

  it('gives the lane back when its tenant cannot begin, and tries again', async () => {
    const world = shared();
    let broken = true;
    const a = keeperOf(world, 'a', async () => {
      if (broken) throw new Error('not yet');
    });
    await a.keeper.start();
    await world.clock.advance(1500);
    broken = false;
    await world.clock.advance(2000);
    expect(a.calls.slice(0, 2)).toEqual(['begin 1', 'end']);
    expect(a.calls.at(-1)).toMatch(/^begin/);
    expect(a.keeper.state).toBe('held');
  });

  it('keeps asking while the database cannot be reached, and may not act meanwhile', async () => {
    const world = shared();
    const a = keeperOf(world, 'a');
    await a.keeper.start();
    await world.clock.advance(100);
    world.database.faults = { ...noDatabaseFaults, unreachable: 1 };
    await world.clock.advance(5000);
    expect(a.lease.mayAct()).toBe(false);
    world.database.faults = noDatabaseFaults;
    await world.clock.advance(2500);
    expect(a.lease.mayAct()).toBe(true);
    expect(a.calls).toEqual(['begin 1']);
  });
});

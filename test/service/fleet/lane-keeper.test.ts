import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { LaneKeeper } from '../../../src/service/fleet/lane-keeper.ts';
import type { LaneHold } from '../../../src/store/fleet/lane-store.ts';
import { noDatabaseFaults } from '../../simulation/database-rows.ts';
import { MemoryDatabase } from '../../simulation/world/memory-database.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const options = { renewEveryMs: 2000, expireAfterMs: 6000, acquireEveryMs: 1000 };

function shared() {
  const clock = new VirtualClock();
  return { clock, database: new MemoryDatabase(clock, seededRandom(1)) };
}

interface KeeperParts {
  readonly begin?: () => Promise<void>;
  readonly mayAsk?: () => Promise<void>;
}

function keeperOf({ clock, database }: ReturnType<typeof shared>, holder: string, { begin, mayAsk }: KeeperParts = {}) {
  const calls: string[] = [];
  const lease = new Lease(clock, 3000);
  const work = {
    begin: async (hold: LaneHold) => {
      calls.push(`begin ${hold.epoch}`);
      await begin?.();
    },
    end: async () => {
      calls.push(`end${lease.mayAct() ? ' while acting' : ''}`);
    },
  };
  const log = testLog.child({}, { level: 'silent' });
  const metrics = createMetrics().ingest;
  const keeper = new LaneKeeper(
    {
      store: database,
      lease,
      work,
      clock,
      metrics,
      log,
      ...(mayAsk === undefined ? {} : { assertCanBegin: mayAsk }),
    },
    { ...options, holder },
  );
  return { keeper, lease, calls, metrics };
}

/** The values of a metric that are above 0, by their label. */
async function counted(metric: {
  get(): Promise<{ values: { labels: object; value: number; metricName?: string }[] }>;
}) {
  const { values } = await metric.get();
  return Object.fromEntries(
    values.filter(({ value }) => value > 0).map(({ labels, value }) => [Object.values(labels).join(), value]),
  );
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

  it('forgets all but the last acts once a renewal has compared them', async () => {
    const world = shared();
    const { keeper, lease } = keeperOf(world, 'a');
    await keeper.start();
    await world.clock.advance(100);
    for (let n = 1; n <= 20; n += 1) lease.checkpoint.saw(['sent', `tm-${n}`]);
    expect(lease.checkpoint.newest?.acts).toHaveLength(20);
    await world.clock.advance(options.renewEveryMs);
    expect(lease.checkpoint.newest?.acts).toEqual([13, 14, 15, 16, 17, 18, 19, 20].map((n) => ['sent', `tm-${n}`]));
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

  it('ends its work, without a right to act, when it finds the lane taken', async () => {
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

  it('gives the lane back when its work cannot begin, and tries again', async () => {
    const world = shared();
    let broken = true;
    const begin = async () => {
      if (broken) throw new Error('not yet');
    };
    const a = keeperOf(world, 'a', { begin });
    await a.keeper.start();
    await world.clock.advance(1500);
    broken = false;
    await world.clock.advance(2000);
    expect(a.calls.slice(0, 2)).toEqual(['begin 1', 'end']);
    expect(a.calls.at(-1)).toMatch(/^begin/);
    expect(a.keeper.state).toBe('held');
  });

  it('renews the lane while its work begins, however long that takes', async () => {
    const world = shared();
    const begin = () => world.clock.sleep(20_000);
    const a = keeperOf(world, 'a', { begin });
    const b = keeperOf(world, 'b', { begin });
    await a.keeper.start();
    await world.clock.advance(100);
    await b.keeper.start();
    let acting = true;
    await world.clock.advanceUntil(() => {
      acting &&= a.lease.mayAct();
      return false;
    }, 60_000);
    expect([a.calls, b.calls, acting]).toEqual([['begin 1'], [], true]);
  });

  it('goes on renewing when the database did not answer once while its work was beginning', async () => {
    const world = shared();
    const a = keeperOf(world, 'a', { begin: () => world.clock.sleep(20_000) });
    await a.keeper.start();
    await world.clock.advance(1000);
    world.database.faults = { ...noDatabaseFaults, unreachable: 1 };
    await world.clock.advance(4000);
    expect(a.lease.mayAct()).toBe(false);
    world.database.faults = noDatabaseFaults;
    await world.clock.advance(2500);
    expect([a.lease.mayAct(), a.calls]).toEqual([true, ['begin 1']]);
  });

  it('may act no more when the lane is taken while its work begins, and ends the work once it has begun', async () => {
    const world = shared();
    const a = keeperOf(world, 'a', { begin: () => world.clock.sleep(20_000) });
    await a.keeper.start();
    await world.clock.advance(100);
    const rival = world.database.acquire(0, 'rival', 0);
    await world.clock.advance(2100);
    await rival;
    expect([a.lease.mayAct(), a.calls]).toEqual([false, ['begin 1']]);
    await world.clock.advance(18_000);
    expect([a.keeper.state, a.calls]).toEqual(['standby', ['begin 1', 'end']]);
    expect(await counted(a.metrics.laneHeld)).toEqual({});
  });

  it('leaves a free lane to others for as long as its work could not begin', async () => {
    const world = shared();
    let broken = true;
    const mayAsk = async () => {
      if (broken) throw new Error('the schema is older than this build');
    };
    const a = keeperOf(world, 'a', { mayAsk });
    await a.keeper.start();
    await world.clock.advance(5000);
    const b = keeperOf(world, 'b');
    await b.keeper.start();
    await world.clock.advance(100);
    expect(b.calls, 'nobody had it before').toEqual(['begin 1']);
    broken = false;
    await world.clock.advance(2000);
    expect([a.keeper.state, a.keeper.otherHolder, a.calls]).toEqual(['standby', 'b', []]);
  });

  it('tells who holds the lane under which number, how it was taken, and what was refused', async () => {
    const world = shared();
    const a = keeperOf(world, 'a');
    const b = keeperOf(world, 'b');
    await a.keeper.start();
    await world.clock.advance(100);
    await b.keeper.start();
    await world.clock.advance(1000);
    expect(a.keeper.view).toMatchObject({
      holder: 'a',
      epoch: 1n,
      takeovers: 1,
      takeover: { cause: 'first' },
      fenced: 0,
    });
    expect(b.keeper.view).toMatchObject({ holder: 'a', epoch: 1n, takeovers: 0, takeover: undefined, fenced: 0 });

    // A holder that is frozen: its renewal leaves when it wakes.
    const renew = world.database.renew.bind(world.database);
    let wake: () => void = () => undefined;
    const frozen = new Promise<void>((resolve) => {
      wake = resolve;
    });
    world.database.renew = async (lane, epoch) => {
      if (epoch === 1n) await frozen;
      return renew(lane, epoch);
    };
    expect(await world.clock.advanceUntil(() => b.keeper.state === 'held', 10_000)).toBe(true);
    wake();
    await world.clock.advance(2000);
    expect(a.keeper.state).toBe('standby');
    expect(a.keeper.view).toMatchObject({ holder: 'b', epoch: 2n, takeovers: 1, fenced: 1 });
    const { takeover } = b.keeper.view;
    expect(takeover).toMatchObject({ cause: 'expired', from: 'a', epoch: 2n });
    expect(takeover?.idleMs).toBeGreaterThanOrEqual(options.expireAfterMs);
    expect(takeover?.idleMs).toBeLessThan(10_000);
    expect(await counted(a.metrics.fenced)).toEqual({ postgres: 1 });
    expect(await counted(b.metrics.laneTakeovers)).toEqual({ expired: 1 });
    expect([await counted(a.metrics.laneEpoch), await counted(a.metrics.laneHeld)]).toEqual([{ '': 2 }, {}]);

    const drained = b.keeper.drain(new AbortController().signal);
    await world.clock.advance(1500);
    await drained;
    expect(a.keeper.view).toMatchObject({
      holder: 'a',
      takeovers: 2,
      takeover: { cause: 'released', from: undefined },
    });
    expect(a.keeper.view.takeover?.idleMs).toBeLessThan(1500);
  });

  it('counts a batch that was refused once, and one that was not refused not at all', async () => {
    const world = shared();
    const a = keeperOf(world, 'a');
    await a.keeper.start();
    await world.clock.advance(100);
    a.keeper.reportLost('batch_refused');
    await world.clock.advance(100);
    expect(a.calls).toEqual(['begin 1', 'end']);
    await world.clock.advance(2000);
    a.keeper.reportLost('forgotten');
    await world.clock.advance(100);
    expect([a.calls.at(-1), await counted(a.metrics.fenced)]).toEqual(['end', { postgres: 1 }]);
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

describe('issue: A process gave a lane that it had just taken back, for a wish of its last term.', () => {
  // The look at the fleet that asks for another lane may still run when the term is lost.
  it('keeps a lane that it takes after the term ended in which a change was asked for', async () => {
    const clock = new VirtualClock();
    const database = new MemoryDatabase(clock, seededRandom(1));
    const calls: string[] = [];
    const work = { begin: async () => void calls.push('begin'), end: async () => void calls.push('end') };
    const log = testLog.child({}, { level: 'silent' });
    const deps = { store: database, lease: new Lease(clock, 3000), work, clock, metrics: createMetrics().ingest, log };
    const keeper = new LaneKeeper(deps, { holder: 'a', renewEveryMs: 2000, expireAfterMs: 6000, acquireEveryMs: 1000 });
    await keeper.start();
    await clock.advance(100);
    keeper.reportLost('batch_refused');
    await clock.advance(10);
    keeper.change();
    await clock.advance(30_000);
    expect(calls).toEqual(['begin', 'end', 'begin']);
    const drained = keeper.drain(new AbortController().signal);
    await clock.advance(100);
    await drained;
  });
});

describe('issue: After a stop, the standby had to wait for the lease to run out before it could begin.', () => {
  // Found by reading: ingest was waiting for a reclaim when the service was told to stop. The
  // reclaim raised the epoch behind the keeper's back, so the lane was given back under an epoch
  // that it no longer had, and the standby waited for the lease to expire.
  it('gives the lane back, and may act no more, when a reclaim ends while its work does', async () => {
    const clock = new VirtualClock();
    const database = new MemoryDatabase(clock, seededRandom(1));
    const lease = new Lease(clock, 3000);
    const metrics = createMetrics().ingest;
    let reclaiming: Promise<unknown> = Promise.resolve();
    const keeper: LaneKeeper = new LaneKeeper(
      {
        store: database,
        lease,
        work: {
          begin: async () => undefined,
          end: async () => {
            await reclaiming;
          },
        },
        clock,
        metrics,
        log: testLog.child({}, { level: 'silent' }),
      },
      { holder: 'a', renewEveryMs: 2000, expireAfterMs: 6000, acquireEveryMs: 1000 },
    );
    await keeper.start();
    await clock.advance(100);
    reclaiming = keeper.reclaim();
    const drained = keeper.drain(new AbortController().signal);
    await clock.advance(100);
    await drained;
    expect(lease.mayAct()).toBe(false);
    expect((await metrics.laneHeld.get()).values[0]?.value).toBe(0);
    const next = database.acquire(0, 'b', 6000);
    await clock.advance(100);
    expect(await next).toMatchObject({ kind: 'held' });
  });
});

describe('issue: A standby that was being stopped still opened sockets and began to read accounts.', () => {
  // Found by reading: a standby that was told to stop while it was asking for the lane began
  // everything (sockets, reads, batches), behind parts that had drained already.
  it('begins nothing when it gets the lane after it was told to stop, and gives it back', async () => {
    const clock = new VirtualClock();
    const database = new MemoryDatabase(clock, seededRandom(1));
    const calls: string[] = [];
    const work = { begin: async () => void calls.push('begin'), end: async () => void calls.push('end') };
    const lease = new Lease(clock, 3000);
    const log = testLog.child({}, { level: 'silent' });
    const deps = { store: database, lease, work, clock, metrics: createMetrics().ingest, log };
    const keeper = new LaneKeeper(deps, { holder: 'a', renewEveryMs: 2000, expireAfterMs: 6000, acquireEveryMs: 1000 });
    await keeper.start();
    const drained = keeper.drain(new AbortController().signal);
    await clock.advance(100);
    await drained;
    expect(calls).toEqual([]);
    expect(lease.mayAct()).toBe(false);
    const next = database.acquire(0, 'b', 6000);
    await clock.advance(100);
    expect(await next).toMatchObject({ kind: 'held' });
  });
});

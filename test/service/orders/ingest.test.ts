import { describe, expect, it } from 'vitest';
import type { Observation } from '../../../src/domain/observation.ts';
import type { Batch } from '../../../src/store/orders/order-store.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

describe('ingest', () => {
  it('lets one socket read become one batch', async () => {
    const rig = await ingestRig(1);
    rig.ingest.begin(rig.hold);
    for (let order = 0; order < 8; order += 1) rig.offer(observe(orderAt(order, 0)));
    await rig.clock.advance(1000);
    expect(rig.handed.map((batch) => batch.rows.length)).toEqual([8]);
    expect(rig.results).toEqual(new Array(8).fill('applied'));
  });

  it('keeps two batches in flight, and never more', async () => {
    const rig = await ingestRig(2);
    let flying = 0;
    let most = 0;
    const apply = rig.database.applyBatch.bind(rig.database);
    rig.database.applyBatch = async (batch: Batch) => {
      flying += 1;
      most = Math.max(most, flying);
      const result = await apply(batch);
      flying -= 1;
      return result;
    };
    rig.ingest.begin(rig.hold);
    for (let order = 0; order < 90; order += 1) rig.offer(observe(orderAt(order, 0)));
    await rig.clock.advance(5000);
    expect(most).toBe(2);
    expect(rig.results).toHaveLength(90);
  });

  it('settles a duplicate only after the batch that it repeats has committed', async () => {
    const rig = await ingestRig(3);
    rig.database.faults = { ...rig.database.faults, retry: 1 };
    rig.ingest.begin(rig.hold);
    rig.offer(observe(orderAt(1, 0)));
    await rig.clock.advance(5);
    rig.offer(observe(orderAt(1, 0)));
    await rig.clock.advance(500);
    expect(rig.results).toEqual([]);
    rig.database.faults = { ...rig.database.faults, retry: 0 };
    await rig.clock.advance(1000);
    expect(rig.results.toSorted()).toEqual(['applied', 'duplicate']);
    expect(rig.database.log.map((row) => row.revision)).toEqual([1]);
  });

  it('commits a heartbeat behind every row that came before it, whatever fails meanwhile', async () => {
    const rig = await ingestRig(16);
    rig.ingest.begin(rig.hold);
    rig.database.faults = { ...rig.database.faults, retry: 0.7 };
    const offered: string[] = [];
    for (let step = 0; step < 5; step += 1) {
      for (let order = 0; order < 13; order += 1) {
        rig.offer(observe(orderAt(order, step)));
        offered.push(`ord-${order} ${step + 1}`);
      }
      const markId = `mark-${step}`;
      rig.ingest.offer({
        kind: 'watermarks',
        markId,
        stream: 'account',
        accountIds: ['a', 'b'],
        event: 'heartbeat',
        atMs: step,
      });
      offered.push(`${markId} 1`);
      await rig.clock.advance(3);
    }
    await rig.clock.advance(60_000);
    expect(rig.database.log.map(({ orderId, revision }) => `${orderId} ${revision}`)).toEqual(offered);
  });

  it('tells the sources to stop reading when the queue is full, and to go on when half of it is free', async () => {
    const rig = await ingestRig(4);
    let room = 0;
    rig.ingest.onRoom(() => {
      room += 1;
    });
    rig.ingest.begin(rig.hold);
    for (let order = 0; order < 120; order += 1) rig.offer(observe(orderAt(order, 0)));
    expect(rig.ingest.full).toBe(true);
    await rig.clock.advance(5000);
    expect(rig.ingest.full).toBe(false);
    expect(room).toBe(1);
    expect(rig.results).toHaveLength(120);
  });

  it('takes what is urgent past a full queue', async () => {
    const rig = await ingestRig(5);
    rig.ingest.begin(rig.hold);
    for (let order = 0; order < 100; order += 1) rig.offer(observe(orderAt(order, 0)));
    let settledAfter = -1;
    rig.ingest.offer(observe(orderAt(500, 0), { urgent: true, onResult: () => (settledAfter = rig.results.length) }));
    await rig.clock.advance(5000);
    expect(settledAfter).toBeGreaterThanOrEqual(0);
    expect(settledAfter).toBeLessThan(20);
  });

  it('commits a batch for a fence that has no rows, past a full queue, and none for a wait', async () => {
    const rig = await ingestRig(5);
    rig.ingest.begin(rig.hold);
    const batch = () => rig.database.lanes.get(0)?.batch;
    void rig.ingest.committed();
    await rig.clock.advance(100);
    expect(batch()).toBe(0n);
    void rig.ingest.fence();
    await rig.clock.advance(100);
    expect(batch()).toBe(1n);
    for (let order = 0; order < 100; order += 1) rig.offer(observe(orderAt(order, 0)));
    let settledBefore = -1;
    void rig.ingest.fence().then(() => (settledBefore = rig.results.length));
    await rig.clock.advance(5000);
    expect(settledBefore).toBeGreaterThanOrEqual(0);
    expect(settledBefore).toBeLessThan(20);
  });

  it('finds the one observation that Postgres refuses, keeps it as a dead letter, and applies the others', async () => {
    const rig = await ingestRig(6);
    rig.ingest.begin(rig.hold);
    for (let order = 0; order < 40; order += 1) {
      rig.offer(observe(orderAt(order, 0, order === 17 ? { rejectText: 'POISON' } : {})));
    }
    await rig.clock.advance(20_000);
    expect(rig.results.filter((result) => result === 'dead_lettered')).toHaveLength(1);
    expect(rig.results.filter((result) => result === 'applied')).toHaveLength(39);
    expect(rig.database.deadLetters.map((row) => [row.reason, row.orderId])).toEqual([['poison', 'ord-17']]);
    expect(rig.database.heads.has('account:ord-17')).toBe(false);
  });

  it('keeps an order that is too large for Kafka as a dead letter', async () => {
    const rig = await ingestRig(7);
    rig.ingest.begin(rig.hold);
    rig.offer(observe(orderAt(1, 0, { extra: { text: 'é'.repeat(140_000) } })));
    await rig.clock.advance(1000);
    expect(rig.results).toEqual(['dead_lettered']);
    expect(rig.database.deadLetters[0]?.reason).toBe('too_large');
  });

  it('says of each dead letter that the log lacks it', async () => {
    const rig = await ingestRig(6);
    rig.ingest.begin(rig.hold);
    const raised: unknown[] = [];
    const onDoubt = ({ view }: Observation, ...how: unknown[]) => raised.push([view.orderId, ...how]);
    for (const [order, over] of [{}, { rejectText: 'POISON' }, { extra: { text: 'é'.repeat(140_000) } }].entries())
      rig.offer({ ...observe(orderAt(order, 0, over)), onDoubt });
    rig.offer({ ...observe(orderAt(0, 1, { accountId: 'another' })), onDoubt });
    await rig.clock.advance(20_000);
    expect(raised.toSorted()).toEqual([
      ['ord-0', 'dead_lettered', 1],
      ['ord-1', 'dead_lettered', 0],
      ['ord-2', 'dead_lettered', 0],
    ]);
  });

  it('hands nothing over after a commit whose answer was lost, and says that the log has more', async () => {
    const rig = await ingestRig(8);
    rig.database.faults = { ...rig.database.faults, lostAnswer: 1 };
    rig.ingest.begin(rig.hold);
    rig.offer(observe(orderAt(1, 0)));
    await rig.clock.advance(3000);
    expect(rig.results).toEqual(['applied']);
    expect(rig.handed).toEqual([]);
    expect(rig.state.unhanded).toBe(1);
    expect(rig.database.log).toHaveLength(1);
  });

  it('reports a lost lane once, settles nothing more, and rejects who waits', async () => {
    const rig = await ingestRig(9);
    rig.ingest.begin(rig.hold);
    const taken = rig.database.acquire(0, 'rival', 0);
    await rig.clock.advance(50);
    await taken;
    rig.offer(observe(orderAt(1, 0)));
    const settled = rig.ingest.committed();
    const refusal = expect(settled).rejects.toMatchObject({ code: 'LANE_ENDED' });
    await rig.clock.advance(1000);
    const ended = rig.ingest.end();
    await rig.clock.advance(1000);
    await ended;
    await refusal;
    expect(rig.state.lost).toBe(1);
    expect(rig.results).toEqual([]);
    expect(rig.database.log).toEqual([]);
  });

  it('reports a lost lane where the database is behind what it had committed, and commits nothing on top of it', async () => {
    const rig = await ingestRig(13);
    rig.lease.checkpoint.sawLane(rig.hold);
    rig.ingest.begin(rig.hold);
    rig.offer(observe(orderAt(1, 0)));
    await rig.clock.advance(1_000);
    let tries = 0;
    rig.database.applyBatch = async () => {
      tries += 1;
      return { kind: 'unknown', code: 'the connection ended' };
    };
    const { reclaim } = rig.database;
    rig.database.reclaim = async (lane, epoch) => {
      const hold = await reclaim.call(rig.database, lane, epoch);
      return hold && { ...hold, batch: 0n };
    };
    rig.offer(observe(orderAt(1, 1)));
    await rig.clock.advance(10_000);
    expect([tries, rig.state.lost]).toEqual([1, 1]);
    expect(rig.results).toEqual(['applied']);
  });

  it('settles what is queued when it drains, and gives up at the deadline', async () => {
    const rig = await ingestRig(10);
    rig.ingest.begin(rig.hold);
    for (let order = 0; order < 30; order += 1) rig.offer(observe(orderAt(order, 0)));
    const drained = rig.ingest.drain(new AbortController().signal);
    await rig.clock.advance(5000);
    await drained;
    expect(rig.results).toHaveLength(30);

    const stuck = await ingestRig(11);
    stuck.database.faults = { ...stuck.database.faults, retry: 1 };
    stuck.ingest.begin(stuck.hold);
    stuck.offer(observe(orderAt(1, 0)));
    const deadline = new AbortController();
    const gaveUp = stuck.ingest.drain(deadline.signal);
    await stuck.clock.advance(5000);
    deadline.abort();
    await stuck.clock.advance(5000);
    await gaveUp;
    expect(stuck.results).toEqual([]);
  });

  it('stores what the join remembers also when nothing of the order changed, without a revision', async () => {
    const rig = await ingestRig(12, { headCacheCount: 1 });
    rig.ingest.begin(rig.hold);
    rig.offer(observe(orderAt(1, 5)));
    await rig.clock.advance(1000);
    const before = rig.database.heads.get('account:ord-1');
    rig.offer(observe(orderAt(1, 5, { status: 'canceled', statusRaw: 'CANCELED', leavesQty: '0' })));
    await rig.clock.advance(1000);
    rig.offer(
      observe(orderAt(1, 5, { status: 'suspended', statusRaw: 'SUSPENDED', updatedAt: orderAt(1, 4).updatedAt })),
    );
    await rig.clock.advance(1000);
    expect(before?.revision).toBe(1);
    expect(rig.database.heads.get('account:ord-1')?.revision).toBe(2);
    expect(rig.database.log.map((row) => row.revision)).toEqual([1, 2]);
  });
});

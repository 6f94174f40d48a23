import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Backoff } from '../../../src/runtime/backoff.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { Ingest } from '../../../src/service/orders/ingest.ts';
import { PostgresOrderStore } from '../../../src/store/orders/postgres-orders.ts';
import { orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { testLog } from '../../support/runs/test-log.ts';

const silent = testLog.child({}, { level: 'silent' });

type StoreRig = Awaited<ReturnType<typeof storeRig>>;

/** A process of its own, with an empty cache, on this lane. */
async function processOn(lane: number, rig: StoreRig, stack: AsyncDisposableStack) {
  const held = lane === 0 ? undefined : await rig.lanes.acquire(lane, `process ${lane}`, 6_000);
  const epoch = held?.kind === 'held' ? held.epoch : rig.epoch;
  const lease = new Lease(clock, 1e9);
  lease.enter(lane);
  lease.confirm(epoch, clock.monotonicMs());
  const store = new PostgresOrderStore(rig.deps, { url: rig.database.url, partitionRows: 1_000 });
  stack.defer(() => store.close());
  const ingest = new Ingest(
    {
      ...{ store, lease, clock, log: silent, metrics: createMetrics().ingest },
      lane: { reclaim: async () => undefined, reportLost: () => {} },
      onCommitted: () => {},
      onCommitUnseen: () => {},
      backoff: new Backoff(systemRandom, { firstMs: 5, maxMs: 50 }),
    },
    { queueMaxCount: 4000, queueMaxBytes: 33_554_432, batchMaxCount: 500, headCacheCount: 50_000 },
  );
  ingest.begin({ epoch, batch: 0n, generation: 1 });
  stack.defer(() => ingest.end());
  return ingest;
}

const firstOf = (order: number) => observe(orderAt(order, 0, { status: 'pending_new', statusRaw: 'PENDING_NEW' }));
const orders = [1, 2, 3, 4, 5];
const log =
  'select order_id, revision::int, before_seq is null as first from order_updates order by order_id, revision';

describe('the first event of an order that another process has stored', () => {
  it('is refused by Postgres, read, and changes nothing; new orders beside it are stored', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = stack.use(await storeRig());
    const one = await processOn(0, rig, stack);
    for (const order of orders) one.offer(firstOf(order));
    for (const order of orders) one.offer(observe(orderAt(order, 3)));
    await one.committed();
    const before = await rig.rows('select * from current_orders order by order_id');
    const other = await processOn(1, rig, stack);
    for (const order of [1, 3, 6]) other.offer(firstOf(order));
    await other.committed();
    const after = await rig.rows('select * from current_orders order by order_id');
    expect(after.slice(0, 5)).toEqual(before);
    expect(after.slice(5)).toMatchObject([{ order_id: 'ord-6', revision: '1', lane: 1 }]);
    expect(await rig.rows('select lane_batch(1)::int as batch')).toEqual([{ batch: 1 }]);
  });

  it('makes one first revision where both take it for new at once', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = stack.use(await storeRig());
    const processes = [await processOn(0, rig, stack), await processOn(1, rig, stack)];
    for (let round = 0; round < 20; round += 1) {
      for (const ingest of processes) ingest.offer(firstOf(round));
      await Promise.all(processes.map((ingest) => ingest.committed()));
    }
    const rows = await rig.rows<{ order_id: string; revision: number; first: boolean }>(log);
    expect(rows).toHaveLength(20);
    expect(rows.every(({ revision, first }) => revision === 1 && first)).toBe(true);
  });
});

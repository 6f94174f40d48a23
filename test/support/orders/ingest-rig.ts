import type { CommittedBatch } from '../../../src/domain/committed-batch.ts';
import type { Observation, ObservationResult } from '../../../src/domain/observation.ts';
import type { OrderView } from '../../../src/domain/order.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Backoff } from '../../../src/runtime/backoff.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { Ingest } from '../../../src/service/orders/ingest.ts';
import type { IngestOptions } from '../../../src/service/orders/ingest-deps.ts';
import type { LaneHold } from '../../../src/store/fleet/lane-store.ts';
import { MemoryDatabase } from '../../simulation/world/memory-database.ts';
import { testLog } from '../runs/test-log.ts';
import { VirtualClock } from '../runs/virtual-clock.ts';
import { equityView, instantAt } from './arbitrary-orders.ts';

const defaults: IngestOptions = {
  queueMaxCount: 100,
  queueMaxBytes: 1_000_000,
  batchMaxCount: 10,
  headCacheCount: 20,
};

/**
 * The real ingest over a database in memory, on a virtual clock, with one
 * result recorded for each observation offered.
 */
export async function ingestRig(seed: number, over: Partial<IngestOptions> = {}) {
  const clock = new VirtualClock();
  const random = seededRandom(seed);
  const database = new MemoryDatabase(clock, random);
  const lease = new Lease(clock, 3000);
  const metrics = createMetrics();
  const handed: CommittedBatch[] = [];
  const results: ObservationResult[] = [];
  const state = { unhanded: 0, lost: 0 };
  const ingest = new Ingest(
    {
      store: database,
      lane: {
        reclaim: async () => {
          const hold = await database.reclaim(0, lease.epoch);
          if (hold !== undefined) lease.confirm(hold.epoch, clock.monotonicMs());
          return hold;
        },
        reportLost: () => {
          state.lost += 1;
        },
      },
      lease,
      onCommitted: (batch) => handed.push(batch),
      onCommitUnseen: () => {
        state.unhanded += 1;
      },
      clock,
      backoff: new Backoff(random, { firstMs: 10, maxMs: 100 }),
      metrics: metrics.ingest,
      log: testLog.child({}, { level: 'silent' }),
    },
    { ...defaults, ...over },
  );
  const acquired = database.acquire(0, 'test', 6000);
  await clock.advance(100);
  const hold = (await acquired) as { kind: 'held' } & LaneHold;
  lease.confirm(hold.epoch, clock.monotonicMs());
  const offer = (observation: Observation) =>
    ingest.offer({ ...observation, onResult: (result) => results.push(result) });
  return { clock, random, database, lease, metrics, ingest, hold, handed, results, state, offer };
}

/** The view of one of many equity orders at a step of its life: each step fills one more. */
export function orderAt(order: number, step: number, over: Partial<OrderView> = {}): OrderView {
  return {
    ...equityView,
    orderId: `ord-${order}`,
    status: step === 0 ? 'new' : 'partially_filled',
    statusRaw: step === 0 ? 'NEW' : 'PARTIALLY_FILLED',
    cumQty: String(step),
    leavesQty: String(10 - step),
    updatedAt: instantAt(step),
    ...over,
  };
}

import { describe, expect, it } from 'vitest';
import type { Random } from '../../src/runtime/random.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import type { ApplyResult, HeadRow, UpdateRow } from '../../src/store/orders/order-store.ts';
import { PostgresOrderStore } from '../../src/store/orders/postgres-orders.ts';
import { placesOf } from '../support/orders/batch-places.ts';
import { head, storeRig, update } from '../support/orders/store-rig.ts';

const orderIds = Array.from({ length: 20 }, (_, i) => `order-${i}`);
type Rig = Awaited<ReturnType<typeof storeRig>>;

/** One batch of the next revisions of some orders, on top of `known`, which it moves on. */
function nextBatch(random: Random, known: Map<string, number>): { heads: HeadRow[]; updates: UpdateRow[] } {
  const touched = orderIds.filter(() => random.next() < 0.3);
  const before = new Map(known);
  const updates = touched.flatMap((orderId) => {
    const from = known.get(orderId) ?? 0;
    const to = from + 1 + Math.floor(random.next() * 2);
    known.set(orderId, to);
    return Array.from({ length: to - from }, (_, i) => update(orderId, from + 1 + i));
  });
  return {
    heads: touched.map((orderId) => head(orderId, known.get(orderId) ?? 0, { reducedFrom: before.get(orderId) ?? 0 })),
    updates,
  };
}

/**
 * A process that takes the lane from whoever has it and writes two batches deep until something
 * refuses it; `turns` times.
 */
async function holder(rig: Rig, name: string, seed: number, turns: number): Promise<ApplyResult[]> {
  const random = seededRandom(seed);
  const store = new PostgresOrderStore(rig.deps, { url: rig.database.url, partitionRows: 1_000 });
  const results: ApplyResult[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const lane = await rig.lanes.acquire(0, name, 0);
    if (lane.kind !== 'held') continue;
    const heads = await store.readHeads(orderIds.map((id) => `prediction:${id}`));
    const known = new Map([...heads].map(([key, { revision }]) => [key.slice('prediction:'.length), revision]));
    let { batch: number } = lane;
    for (let refused = false; !refused && random.next() < 0.8; ) {
      const pair = [nextBatch(random, known), nextBatch(random, known)].map((rows) => {
        number += 1n;
        return store.applyBatch({
          lane: 0,
          epoch: lane.epoch,
          number,
          ...rows,
          places: placesOf(rows),
          deadLetters: [],
        });
      });
      const answers = await Promise.all(pair);
      results.push(...answers);
      refused = answers.some((answer) => answer.kind !== 'committed');
    }
  }
  await store.close();
  return results;
}

describe('processes that take the lane from each other without end', () => {
  it.each([1, 2, 3])('leave one history without a hole or a repeat, seed %i', async (seed) => {
    await using rig = await storeRig();
    const results = (await Promise.all(['a', 'b', 'c'].map((name, i) => holder(rig, name, seed * 100 + i, 40)))).flat();
    const kinds = new Set(results.map((result) => result.kind));
    expect([...kinds].filter((kind) => !['committed', 'lane_lost', 'out_of_order', 'retry'].includes(kind))).toEqual(
      [],
    );
    expect([...kinds]).toEqual(expect.arrayContaining(['committed', 'lane_lost']));

    const committed = results.filter((result) => result.kind === 'committed').length;
    expect(await rig.laneBatch()).toBe(committed);
    const log = await rig.rows<{ order_id: string; revisions: number[] }>(
      'select order_id, array_agg(revision::int order by seq) as revisions from order_updates group by 1 order by 1',
    );
    const orders = await rig.rows<{ order_id: string; revision: number }>(
      'select order_id, revision::int as revision from orders order by 1',
    );
    expect(log.map(({ order_id, revisions }) => ({ order_id, revision: revisions.length }))).toEqual(orders);
    for (const { revisions } of log) expect(revisions).toEqual(revisions.map((_, i) => i + 1));
  });
});

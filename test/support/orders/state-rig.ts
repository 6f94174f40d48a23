import { expect } from 'vitest';
import type { Head } from '../../../src/domain/head.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { auditOrders, newestPayloads } from '../../../src/store/commands/audit-reads.ts';
import { readResolvingOrder } from '../../../src/store/commands/command-reads.ts';
import { PostgresLaneStore } from '../../../src/store/fleet/lane-store.ts';
import { maintainLog } from '../../../src/store/maintenance.ts';
import type { HeadRow, UpdateRow } from '../../../src/store/orders/order-store.ts';
import { PostgresOrderStore } from '../../../src/store/orders/postgres-orders.ts';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { sqlstateOf } from '../../../src/store/session/retry-transaction.ts';
import { eventually } from '../runs/poll.ts';
import type { TestDatabase } from '../servers/database.ts';
import { placesOf } from './batch-places.ts';
import { all, readRig } from './read-rig.ts';
import { storedOrder } from './stored-orders.ts';

const partitionRows = 10;

/** The SQLSTATE of a statement that waited too long for a table. */
const tableHeld = '55P03';

type Newest = ReadonlyMap<string, { readonly revision: number; readonly state: string; readonly payload: string }>;

/** A copy of a rig's database, and what the rig had written when it was made. */
interface CopiedStates {
  readonly database: TestDatabase;
  readonly newest: Newest;
}

/**
 * Two lanes that write orders into a log with partitions of ten rows, all of which retention may
 * drop, beside every read of an order's state.
 */
export async function stateRig(copy?: CopiedStates) {
  const stack = new AsyncDisposableStack();
  const rig = stack.use(await readRig(copy));
  if (copy === undefined)
    await rig.pool.query('drop table order_updates_1, order_updates_5000001, order_updates_10000001');
  await maintainLog(rig.pool, { partitionRows, retentionMs: 1e12 });
  const second = await new PostgresLaneStore(rig.deps).acquire(1, 'second', 6_000);
  if (second.kind !== 'held') throw new Error('lane 1 of a new database is held');
  const [numbers] = await rig.rows<{ first: string; second: string }>(
    'select lane_batch(0) as first, lane_batch(1) as second',
  );
  const lanes = [
    { lane: 0, epoch: rig.epoch, number: BigInt(numbers?.first ?? 0) },
    { lane: 1, epoch: second.epoch, number: BigInt(numbers?.second ?? 0) },
  ] as const;
  const log = new PostgresUpdateLog(rig.deps);
  const options = { url: rig.database.url, partitionRows };
  let orders = new PostgresOrderStore(rig.deps, options);
  stack.defer(() => orders.close());
  /** What each order's newest payload says, by key: the truth. */
  const newest = new Map(copy?.newest);

  return Object.assign(rig, {
    newest,
    /** The process that writes ends, and another one begins. */
    async restart(): Promise<void> {
      await orders.close();
      orders = new PostgresOrderStore(rig.deps, options);
    },
    /** One batch of lane `of` with the next revisions of these orders; `changes` of each. */
    async write(of: 0 | 1, orderIds: readonly string[], changes = 1): Promise<void> {
      const lane = lanes[of];
      const heads: HeadRow[] = [];
      const updates: UpdateRow[] = [];
      for (const orderId of orderIds) {
        const from = newest.get(orderId)?.revision ?? 0;
        let row = next(orderId, from + 1);
        updates.push(row.update);
        for (let revision = from + 2; revision <= from + changes; revision += 1) {
          row = next(orderId, revision);
          updates.push(row.update);
        }
        heads.push({ ...row.head, reducedFrom: from });
        newest.set(orderId, { revision: row.head.revision, state: row.head.state, payload: row.update.payload });
      }
      await this.send(lane, { heads, updates });
    },
    /** A batch of lane `of` that changes the join's memory of these orders alone. */
    async remember(of: 0 | 1, orderIds: readonly string[], join: string): Promise<void> {
      const heads = orderIds.map((orderId) => {
        const { revision, state } = newest.get(orderId) ?? { revision: 0, state: '' };
        return { ...next(orderId, revision).head, reducedFrom: revision, state, join };
      });
      await this.send(lanes[of], { heads, updates: [] });
    },
    async send(
      lane: (typeof lanes)[number],
      rows: { readonly heads: readonly HeadRow[]; readonly updates: readonly UpdateRow[] },
    ): Promise<void> {
      const { epoch } = lane;
      (lane as { number: bigint }).number += 1n;
      const result = await orders.applyBatch({
        lane: lane.lane,
        epoch,
        number: lane.number,
        ...rows,
        places: placesOf(rows),
        deadLetters: [],
      });
      expect(result.kind).toBe('committed');
      await maintainLog(rig.pool, { partitionRows, retentionMs: 1e12 });
    },
    /** Both cursors of both lanes have passed everything. */
    async acknowledge(): Promise<void> {
      for (const { lane, epoch } of lanes)
        for (const cursor of ['log', 'state'] as const) {
          const [row] = await rig.rows<{ seq: string | null }>(
            'select max(seq) as seq from order_updates where lane = $1',
            [lane],
          );
          if (row?.seq != null) await log.savePosition(lane, epoch, cursor, BigInt(row.seq));
        }
    },
    move: async (rows: number): Promise<number> =>
      eventually(
        async () =>
          Number(
            (await rig.rows<{ looked: number }>("select move_order_states('0', $1) as looked", [rows]))[0]?.looked,
          ),
        { giveUp: (error) => sqlstateOf(error) !== tableHeld },
      ),
    /** Null: it may not go, or the server's own vacuum holds it at this moment. */
    async drop(): Promise<string | null> {
      try {
        return (await rig.rows<{ name: string | null }>("select drop_log_partition('0') as name"))[0]?.name ?? null;
      } catch (error) {
        if (sqlstateOf(error) === tableHeld) return null;
        throw error;
      }
    },
    /** As `drop`, for one that may go: it is asked for until no vacuum holds it. */
    async dropped(): Promise<string> {
      return eventually(async () => (await this.drop()) ?? expect.fail('the partition is held'));
    },
    /** Every read of a state gives the newest payload's bytes. */
    async expectStates(): Promise<void> {
      const wanted = Object.fromEntries([...newest].map(([id, { state }]) => [id, state]));
      const keys = [...newest.keys()].map((id) => `prediction:${id}`);
      for (const sort of ['orderId', '-updatedAt'] as const) {
        const page = await rig.reads.listOrders(all, {}, undefined, 500, sort);
        expect(Object.fromEntries(page.items.map(({ orderId, state }) => [orderId, state])), sort).toEqual(wanted);
      }
      for (const id of newest.keys()) {
        const { rows: kept } = await rig.pool.query<{ payload: string }>(
          'select payload from order_updates where order_id = $1 order by revision',
          [id],
        );
        const shown: string[] = [];
        for (let after = 0; ; ) {
          const page = (await rig.reads.history(all, 'prediction', id, after, 3)) ?? [];
          shown.push(...page.map(({ payload }) => payload));
          after = Number(JSON.parse(page.at(-1)?.payload ?? '{}').revision);
          if (page.length < 3) break;
        }
        expect(shown, `the history of ${id}`).toEqual(kept.map(({ payload }) => payload));
      }
      for await (const { holes, stateless } of auditOrders(rig.pool)) expect([holes, stateless]).toEqual([0, false]);
      const single = await Promise.all([...newest.keys()].map((id) => rig.reads.getOrder(all, 'prediction', id)));
      expect(single.map((order) => order?.state)).toEqual([...newest.values()].map(({ state }) => state));
      const heads = await orders.readHeads(keys);
      const payloads = await newestPayloads(rig.pool, keys);
      for (const [id, { state, revision, payload }] of newest) {
        expect(JSON.stringify((heads.get(`prediction:${id}`) as Head | undefined)?.order)).toBe(state);
        expect(payloads.get(`prediction:${id}`)).toSatisfy(
          (text: string) => text === payload || (text.endsWith(`,"changed":[],"order":${state}}`) && revision > 0),
        );
        expect((await readResolvingOrder(rig.pool, 'prediction', id))?.order).toEqual(JSON.parse(state));
        const filter = { q: id, side: JSON.parse(state).side as 'buy' | 'sell' };
        expect((await rig.reads.listOrders(all, filter, undefined, 5, 'orderId')).items.map((o) => o.state)).toContain(
          state,
        );
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  });
}

let drawn: Random = seededRandom(1);
const words = ['plain', 'Ünïcode ✓', 'quote " and \\ back', ',"order":{"a":1}', '}}', ' '];

/** An order with other content in each revision, among it what reads might trip over. */
function next(orderId: string, revision: number): { readonly head: HeadRow; readonly update: UpdateRow } {
  const text = words[Math.floor(drawn.next() * words.length)] ?? '';
  return storedOrder({
    orderId,
    revision,
    side: drawn.next() < 0.5 ? 'buy' : 'sell',
    leavesQty: String(Math.floor(drawn.next() * 1e6)),
    references: { clOrdId: `${text}-${revision}`, venueOrderId: text },
  });
}

export function drawWith(seed: number): Random {
  drawn = seededRandom(seed);
  return seededRandom(seed + 1);
}

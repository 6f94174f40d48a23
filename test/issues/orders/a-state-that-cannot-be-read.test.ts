// What a user saw: One order with a lost state kept every other order of its lane from being stored.

import { expect, it } from 'vitest';
import type { Observation } from '../../../src/domain/observation.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { systemRandom as random } from '../../../src/runtime/random.ts';
import { RefusedReadError } from '../../../src/store/orders/order-store.ts';
import { PostgresOrderStore } from '../../../src/store/orders/postgres-orders.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';
import { testLog } from '../../support/runs/test-log.ts';

const orders = Array.from({ length: 30 }, (_, order) => order);

async function damagedRig() {
  const rig = await ingestRig(1, { headCacheCount: 1 });
  rig.ingest.begin(rig.hold);
  for (const order of orders) rig.offer(observe(orderAt(order, 0)));
  await rig.clock.advance(1_000);
  rig.outcomes.length = 0;
  rig.database.damaged.add('account:ord-7');
  const doubts: unknown[] = [];
  const onDoubt = ({ view: { orderId } }: Observation, ...raised: unknown[]) => {
    if (raised[0] !== 'quarantined') doubts.push([orderId, ...raised]);
  };
  return Object.assign(rig, { doubts, onDoubt, head: () => rig.database.heads.get('account:ord-7') });
}

it('is its own order fault alone: what a stream shows of it is kept, and the order is asked for', async () => {
  const rig = await damagedRig();
  for (const order of orders) rig.offer(observe(orderAt(order, 1), { onDoubt: rig.onDoubt }));
  await rig.clock.advance(1_000);
  expect(rig.outcomes.filter((outcome) => outcome === 'applied')).toHaveLength(29);
  expect(rig.database.quarantine).toMatchObject([{ orderId: 'ord-7', reason: 'state_unreadable' }]);
  expect(rig.doubts).toEqual([['ord-7', 'unreadable', 1]]);
  expect(rig.ingest.depth).toBe(0);
  expect(rig.head()?.revision).toBe(1);
});

it('begins again with a read from REST, above its revision and without a fill', async () => {
  const rig = await damagedRig();
  rig.offer(observe(orderAt(7, 3), { cause: 'snapshot', onDoubt: rig.onDoubt }));
  rig.offer(observe(orderAt(7, 4), { onDoubt: rig.onDoubt }));
  await rig.clock.advance(1_000);
  expect(rig.outcomes).toEqual(['applied', 'applied']);
  expect(rig.head()).toMatchObject({ revision: 3 });
  const rows = rig.database.log.filter(({ key }) => key === 'account:ord-7').map(({ payload }) => JSON.parse(payload));
  expect(rows.map(({ revision, cause, fill }) => [revision, cause, fill?.quantity])).toEqual([
    [1, 'stream', undefined],
    [2, 'correction', undefined],
    [3, 'stream', '1'],
  ]);
});

it('does not begin again with a row of another account', async () => {
  const rig = await damagedRig();
  rig.offer(observe(orderAt(7, 3, { accountId: 'another' }), { cause: 'snapshot' }));
  await rig.clock.advance(1_000);
  expect(rig.database.quarantine).toMatchObject([{ reason: 'identity_changed' }]);
  expect(rig.head()?.revision).toBe(1);
});

it.each([
  [new SyntaxError('Unexpected end of JSON input'), true],
  [new TypeError('undefined has no field'), true],
  [Object.assign(new Error('invalid page'), { code: 'XX001', severity: 'ERROR' }), true],
  [Object.assign(new Error('connect'), { code: 'ENOTFOUND' }), false],
  [Object.assign(new Error('shutting down'), { code: '57P01', severity: 'FATAL' }), false],
  [new Error('Connection terminated unexpectedly'), false],
])('an answer that cannot be read is not taken for a database that is away: %s', async (error, refused) => {
  const instant = { ...clock, monotonicMs: () => 0, sleep: () => Promise.reject(error) };
  const pool = { query: () => Promise.reject(error) } as never;
  const store = new PostgresOrderStore({ pool, clock: instant, random, log: testLog }, { url: '', partitionRows: 1 });
  const met = await store.readUnproven(0, 1).catch((each: unknown) => each);
  expect(met instanceof RefusedReadError).toBe(refused);
});

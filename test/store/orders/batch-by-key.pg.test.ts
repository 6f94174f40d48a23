import { expect, it } from 'vitest';
import { applyBatch, Scratch } from '../../../src/store/orders/apply-batch.ts';
import { batch, storeRig } from '../../support/orders/store-rig.ts';

const scratch = new Scratch();
const names = (count: number) => Array.from({ length: count }, (_, i) => `ord-${i}`);

it.each([0, 1, 2, 20, 300])(
  'a batch that was planned when %i orders were known finds each of its own by the key',
  async (few) => {
    await using rig = await storeRig();
    const session = await rig.rival();
    let number = 0;
    const apply = async (orders: [string, number][]) => {
      const result = await applyBatch(session, batch(rig.epoch, number + 1, orders), scratch);
      if (result.kind === 'committed') number += 1;
      return result.kind;
    };
    if (few > 0) await apply(names(few).map((id) => [id, 1]));
    await session.query('vacuum analyze orders');
    // None is known yet: refused, and planned all the same.
    if (few === 0) expect(await apply([['ord-0', 2]])).toBe('retry');
    else expect(await apply(names(few).map((id) => [id, 2]))).toBe('committed');

    await rig.rows(
      `insert into orders (stream, order_id, lane, account_id, symbol, status, revision, join_state, state)
     select 'prediction', 'later-' || n, 0, 'acct-1', 'FED-CUT', 'new', 1, '{}', '{}' from generate_series(1, 2000) n`,
    );
    // Both count what this session has not yet given to the server's statistics.
    const read = async () =>
      (
        await session.query(
          `select pg_stat_get_xact_numscans('orders'::regclass)::int as whole,
           (select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int from pg_index where indrelid = 'orders'::regclass) as entries`,
        )
      ).rows[0];
    await session.query('begin');
    const before = await read();
    const later = ['later-7', 'later-1999'].map((id): [string, number] => [id, 2]);
    expect(await apply(later)).toBe('committed');
    expect(await read()).toEqual({ whole: before.whole, entries: before.entries + 2 });
    await session.query('commit');
  },
);

it('the rows before are those of the same orders, however new and known ones are mixed in a batch', async () => {
  await using rig = await storeRig();
  const known = names(6).filter((_, i) => i % 2 === 0);
  await rig.store.applyBatch(
    batch(
      rig.epoch,
      1,
      known.map((id) => [id, 1]),
    ),
  );
  const mixed = names(6).map((id, i): [string, number] => [id, i % 2 === 0 ? 2 : 1]);
  expect((await rig.store.applyBatch(batch(rig.epoch, 2, mixed.toReversed()))).kind).toBe('committed');
  expect(
    await rig.rows(
      `select u.order_id, u.revision::int, before.order_id as before, before.revision::int as at
       from order_updates u left join order_updates before on before.lane = u.before_lane and before.seq = u.before_seq
       where u.batch = 2 order by 1`,
    ),
  ).toEqual(
    mixed.map(([id, revision]) => ({
      ...{ order_id: id, revision },
      ...(revision === 2 ? { before: id, at: 1 } : { before: null, at: null }),
    })),
  );
});

it.each([
  ['commits', 'commit', { kind: 'retry', code: 'TM003' }],
  ['rolls back', 'rollback', { kind: 'committed' }],
])('a batch waits for another lane that writes its order, which then %s', async (_what, end, wanted) => {
  await using rig = await storeRig();
  await rig.store.applyBatch(
    batch(rig.epoch, 1, [
      ['a', 1],
      ['b', 1],
    ]),
  );
  const rival = await rig.rival();
  await rival.query(`begin; update orders set revision = 2, reduced_from = 1 where order_id = 'b'`);
  const applying = rig.store.applyBatch(
    batch(rig.epoch, 2, [
      ['a', 2],
      ['b', 2],
      ['c', 1],
    ]),
  );
  await rig.laneBlocked();
  await rival.query(end);
  expect(await applying).toMatchObject(wanted);
  const known = await rig.rows(`select order_id, revision::int from orders order by 1`);
  const a = wanted.kind === 'committed' ? 2 : 1;
  expect(known.slice(0, 2)).toEqual([
    { order_id: 'a', revision: a },
    { order_id: 'b', revision: 2 },
  ]);
  expect(known).toHaveLength(a + 1);
});

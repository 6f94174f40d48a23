import { describe, expect, it } from 'vitest';
import { countDeadLetters } from '../../src/store/dead-letters/dead-letters.ts';
import { countOrders } from '../../src/store/maintenance.ts';
import { listDeadLetters, markDealt } from '../support/orders/dead-letter-rows.ts';
import { batch, deadLetter, head, storeRig } from '../support/orders/store-rig.ts';

describe('the orders', () => {
  it('are counted by stream and status', async () => {
    await using rig = await storeRig();
    const heads = [head('a', 1), head('b', 1), head('c', 1, { status: 'filled' }), head('d', 1, { stream: 'account' })];
    await rig.store.applyBatch(batch(rig.epoch, 1, [], { heads }));
    expect(await countOrders(rig.pool)).toEqual([
      { stream: 'account', status: 'new', orders: 1 },
      { stream: 'prediction', status: 'filled', orders: 1 },
      { stream: 'prediction', status: 'new', orders: 2 },
    ]);
  });

  it('are counted from a sample once there are many, about right', async () => {
    await using rig = await storeRig();
    const rival = await rig.rival();
    // Four to a page: 12,500 pages, of which 8,000 are read.
    await rival.query(`insert into orders (stream, order_id, lane, account_id, symbol, status, revision, state, join_state)
      select 'prediction', 'order-' || n, 0, 'acct-1', 'S', case when n % 10 = 0 then 'new' else 'filled' end, 1,
        to_json(repeat('x', 1700)), '{}' from generate_series(1, 50000) n`);
    const counts = await countOrders(rig.pool);
    expect(counts.map(({ status }) => status)).toEqual(['filled', 'new']);
    expect(counts[0]?.orders).toBeGreaterThan(40_000);
    expect(counts[0]?.orders).toBeLessThan(50_000);
    expect(counts[1]?.orders).toBeGreaterThan(4_000);
    expect(counts[1]?.orders).toBeLessThan(6_000);
  });
});

describe('the dead letters', () => {
  it('counts and lists what nobody has dealt with', async () => {
    await using rig = await storeRig();
    const rows = [
      deadLetter({ reason: 'not_json', observedAtMs: 1_795_265_292_688 }),
      deadLetter({ reason: 'not_json' }),
      deadLetter({ stream: 'prediction', reason: 'poison', orderId: 'a' }),
    ];
    await rig.store.applyBatch(batch(rig.epoch, 1, [], { deadLetters: rows }));
    const listed = await listDeadLetters(rig.pool, 0n, 10);
    expect(listed.map((row) => [row.reason, row.orderId])).toEqual([
      ['not_json', null],
      ['not_json', null],
      ['poison', 'a'],
    ]);
    expect(listed[0]?.observedAt.getTime()).toBe(1_795_265_292_688);
    const [first, second] = listed.map((row) => row.id);
    expect(await listDeadLetters(rig.pool, first ?? 0n, 1)).toEqual([listed[1]]);
    await markDealt(rig.pool, second ?? 0n);
    const [oldest, poison] = [listed[0]?.recordedAt, listed[2]?.recordedAt];
    expect(await countDeadLetters(rig.pool)).toEqual([
      { stream: 'account', reason: 'not_json', accountId: listed[0]?.accountId, rows: 1, oldest },
      { stream: 'prediction', reason: 'poison', accountId: listed[2]?.accountId, rows: 1, oldest: poison },
    ]);
    await rig.pool.query(
      'insert into dead_letters (lane, batch, stream, account_id, reason, detail, raw, observed_at) values (1, 1, $1, $2, $3, $4, $5, now())',
      ['account', 'ACC-7', 'not_json', '', ''],
    );
    // Each account is counted by itself, and so are the rows that show none.
    expect((await countDeadLetters(rig.pool)).map(({ reason, accountId, rows }) => [reason, accountId, rows])).toEqual([
      ['not_json', 'ACC-7', 1],
      ['not_json', null, 1],
      ['poison', null, 1],
    ]);
  });
});

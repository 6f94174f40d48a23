import { describe, expect, it } from 'vitest';
import type { Batch } from '../../../src/store/orders/order-store.ts';
import { batch, deadLetter, head, storeRig, update } from '../../support/orders/store-rig.ts';
import { storedOrder } from '../../support/orders/stored-orders.ts';

const written = `select (select count(*)::int from orders) as orders, (select count(*)::int from order_updates) as updates,
  (select count(*)::int from dead_letters) as "deadLetters", lane_batch(0)::int as batch`;

describe('a batch', () => {
  it('writes the newest heads, every update in the order of acceptance, and dead letters, all at once', async () => {
    await using rig = await storeRig();
    const result = await rig.store.applyBatch(
      batch(rig.epoch, 1, [], {
        heads: [head('a', 2, { reducedFrom: 0 }), head('b', 1, { stream: 'account', sourceVersion: null })],
        updates: [update('a', 1), update('b', 1, { stream: 'account' }), update('a', 2)],
        deadLetters: [deadLetter({ reason: 'bad_version' })],
      }),
    );
    const log = await rig.rows<{ seq: string; order_id: string; revision: string; lane: number; batch: string }>(
      'select seq, lane, batch, order_id, revision from order_updates order by seq',
    );
    expect(log.map((row) => `${row.order_id}/${row.revision}`)).toEqual(['a/1', 'b/1', 'a/2']);
    expect(log.map((row) => [row.lane, row.batch])).toEqual([
      [0, '1'],
      [0, '1'],
      [0, '1'],
    ]);
    expect(result).toEqual({ kind: 'committed', lastSeq: BigInt(log[2]?.seq ?? 0) });
    expect(
      await rig.rows('select stream, order_id, revision, source_version, status, is_open from orders order by 2'),
    ).toEqual([
      {
        stream: 'prediction',
        order_id: 'a',
        revision: '2',
        source_version: '9007199254740994',
        status: 'new',
        is_open: true,
      },
      { stream: 'account', order_id: 'b', revision: '1', source_version: null, status: 'new', is_open: true },
    ]);
    expect(await rig.rows('select reason, raw, account_id from dead_letters')).toEqual([
      { reason: 'bad_version', raw: '{', account_id: null },
    ]);
  });

  it('keeps seq in the order of acceptance over batches of 500, two in flight', async () => {
    await using rig = await storeRig();
    const orders = Array.from({ length: 500 }, (_, i): string => `order-${String((i * 7919) % 500).padStart(3, '0')}`);
    const batches = Array.from({ length: 6 }, (_, n) =>
      batch(
        rig.epoch,
        n + 1,
        orders.map((id) => [id, n + 1]),
      ),
    );
    const results = [];
    for (let n = 0; n < batches.length; n += 2) {
      results.push(...(await Promise.all(batches.slice(n, n + 2).map((each) => rig.store.applyBatch(each)))));
    }
    expect(results.map((result) => result.kind)).toEqual(Array(6).fill('committed'));
    const log = await rig.rows<{ order_id: string; revision: string }>(
      'select order_id, revision from order_updates order by seq',
    );
    expect(log.map((row) => `${row.order_id}/${row.revision}`)).toEqual(
      batches.flatMap((each) => each.updates.map((row) => `${row.orderId}/${row.revision}`)),
    );
    const seqs = await rig.rows<{ batch: string; seq: string }>(
      'select batch, max(seq) as seq from order_updates group by 1 order by 1',
    );
    expect(results).toEqual(seqs.map(({ seq }) => ({ kind: 'committed', lastSeq: BigInt(seq) })));
  });

  it('writes dead letters alone, and has no last seq then', async () => {
    await using rig = await storeRig();
    expect(await rig.store.applyBatch(batch(rig.epoch, 1, [], { deadLetters: [deadLetter()] }))).toEqual({
      kind: 'committed',
      lastSeq: undefined,
    });
    expect(await rig.rows(written)).toEqual([{ orders: 0, updates: 0, deadLetters: 1, batch: 1 }]);
  });

  it('moves the memory of the join without a revision', async () => {
    await using rig = await storeRig();
    const { head: first, update: row } = storedOrder({ orderId: 'a' });
    await rig.store.applyBatch(batch(rig.epoch, 1, [], { heads: [first], updates: [row] }));
    const second = batch(rig.epoch, 2, [], { heads: [{ ...first, reducedFrom: 1, join: '{"rank":3}' }] });
    expect((await rig.store.applyBatch(second)).kind).toBe('committed');
    expect((await rig.store.readHeads(['prediction:a'])).get('prediction:a')).toMatchObject({ join: { rank: 3 } });
  });

  it('behind a failed one is refused as out of order, and nothing of either is written', async () => {
    await using rig = await storeRig();
    const results = await Promise.all([
      rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]], { updates: [update('a', 1, { payload: 'NUL: \0' })] })),
      rig.store.applyBatch(batch(rig.epoch, 2, [['b', 1]])),
    ]);
    expect(results.map((result) => result.kind)).toEqual(['poison', 'out_of_order']);
    expect(await rig.rows(written)).toEqual([{ orders: 0, updates: 0, deadLetters: 0, batch: 0 }]);
  });

  it('of a holder whose epoch another one raised is refused, and writes nothing', async () => {
    await using rig = await storeRig();
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    // The frozen holder's row is older than the lease by now.
    await rig.pool.query("update lanes set renewed_at = now() - interval '7 seconds'");
    const taken = await rig.lanes.acquire(0, 'second', 6_000);
    expect(taken).toMatchObject({ kind: 'held', batch: 1n, generation: 1 });
    expect(taken.epoch).toBeGreaterThan(rig.epoch);
    expect(await rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]))).toEqual({ kind: 'lane_lost' });
    expect(await rig.store.applyBatch(batch(rig.epoch, 3, [['a', 3]]))).toEqual({ kind: 'lane_lost' });
    expect(await rig.rows(written)).toEqual([{ orders: 1, updates: 1, deadLetters: 0, batch: 1 }]);
    expect((await rig.store.applyBatch(batch(taken.epoch, 2, [['a', 2]]))).kind).toBe('committed');
  });

  it('on a lane that nobody ever held is refused as lost', async () => {
    await using rig = await storeRig();
    expect(await rig.store.applyBatch({ ...batch(rig.epoch, 1, [['a', 1]]), lane: 7 })).toEqual({ kind: 'lane_lost' });
  });

  it('reduced from a revision of an order that is not stored is refused for a retry', async () => {
    await using rig = await storeRig();
    const lost = batch(rig.epoch, 1, [
      ['a', 4],
      ['b', 1],
    ]);
    expect(await rig.store.applyBatch(lost)).toEqual({ kind: 'retry', code: 'TM003' });
    expect(await rig.rows(written)).toEqual([{ orders: 0, updates: 0, deadLetters: 0, batch: 0 }]);
  });

  it('reduced against an old head is refused for a retry: a stored revision never falls', async () => {
    await using rig = await storeRig();
    await rig.store.applyBatch(batch(rig.epoch, 1, [], { heads: [head('a', 5, { reducedFrom: 0 })] }));
    const stale = batch(rig.epoch, 2, [
      ['a', 4],
      ['b', 1],
    ]);
    expect(await rig.store.applyBatch(stale)).toEqual({ kind: 'retry', code: 'TM003' });
    expect(await rig.rows(written)).toEqual([{ orders: 1, updates: 0, deadLetters: 0, batch: 1 }]);
  });
});

describe('a row that Postgres will never take', () => {
  const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const long = Array.from({ length: 4_000 }, (_, i) => (i * 2_654_435_761).toString(36)).join('');
  const cases: [string, string, Partial<Batch>][] = [
    ['NUL in a payload', '22021', { updates: [update('bad', 1, { payload: 'a\0b' })] }],
    ['NUL in an order id', '22021', { heads: [head('b\0d', 1)] }],
    ['a state that is no JSON', '22P02', { heads: [head('bad', 1, { state: '{"a":' })] }],
    ['a state nested 100,000 deep', '54001', { heads: [head('bad', 1, { state: nested })] }],
    ['a version of 2^63', '22003', { heads: [head('bad', 1, { sourceVersion: '9223372036854775808' })] }],
    ['a version that is no number', '22003', { heads: [head('bad', 1, { sourceVersion: '1.5' })] }],
    ['an order id too long for an index', '54000', { heads: [head(long, 1)] }],
    ['one order twice among the heads', '21000', { heads: [head('bad', 1), head('bad', 2)] }],
    ['a revision that the log has', '23505', { heads: [head('first', 2)], updates: [update('first', 1)] }],
    ['a revision twice', '23505', { heads: [head('bad', 1)], updates: [update('bad', 1), update('bad', 1)] }],
    ['a revision left out', '23505', { heads: [head('bad', 2, { reducedFrom: 0 })], updates: [update('bad', 2)] }],
  ];

  it.each(cases)('makes a poisoned batch that writes nothing: %s', async (_name, code, over) => {
    await using rig = await storeRig();
    await rig.store.applyBatch(batch(rig.epoch, 1, [['first', 1]]));
    const poisoned = batch(rig.epoch, 2, [], { ...over, deadLetters: [deadLetter()] });
    expect(await rig.store.applyBatch(poisoned)).toMatchObject({ kind: 'poison', code });
    expect(await rig.rows(written)).toEqual([{ orders: 1, updates: 1, deadLetters: 0, batch: 1 }]);
    expect((await rig.store.applyBatch(batch(rig.epoch, 2, [['good', 1]]))).kind).toBe('committed');
  });

  it('is always taken by deadLetters: NUL, lone surrogates, huge texts and instants that are none', async () => {
    await using rig = await storeRig();
    const evil = `\0\ud800${'x'.repeat(200_000)}`;
    const row = deadLetter({
      accountId: evil,
      orderId: evil,
      reason: evil,
      detail: evil,
      raw: evil,
      observedAtMs: Number.NaN,
    });
    const result = await rig.store.applyBatch(
      batch(rig.epoch, 1, [], { deadLetters: [row, { ...row, observedAtMs: 1e300 }] }),
    );
    expect(result.kind).toBe('committed');
    const [stored] = await rig.rows<{ raw: string; length: number }>(
      'select left(raw, 3) as raw, length(raw) from dead_letters',
    );
    expect(stored).toEqual({ raw: '\u2400\ufffdx', length: 65_536 });
  });

  it('is not what a lone surrogate makes: it is stored as it goes to Kafka, as U+FFFD', async () => {
    await using rig = await storeRig();
    const row = update('a', 1, { payload: '{"text":"\udfff"}' });
    expect((await rig.store.applyBatch(batch(rig.epoch, 1, [], { updates: [row] }))).kind).toBe('committed');
    const [stored] = await rig.rows<{ payload: string }>('select payload from order_updates');
    expect(stored?.payload).toBe(Buffer.from(row.payload).toString());
  });
});

describe('heads', () => {
  it('are read back as they were written, those that are known', async () => {
    await using rig = await storeRig();
    const state = JSON.stringify({
      ...JSON.parse(storedOrder({ orderId: 'with:colon' }).head.state),
      note: 'ü "quoted" \\ 日本',
      extra: { big: '9007199254740993' },
    });
    const plain = storedOrder({ orderId: 'plain', stream: 'account' }).head.state;
    await rig.store.applyBatch(
      batch(rig.epoch, 1, [], {
        heads: [
          head('with:colon', 7, { reducedFrom: 0, state, sourceVersion: '9223372036854775807' }),
          head('plain', 1, { stream: 'account', sourceVersion: null, join: '{"rank":5}', state: plain }),
        ],
      }),
    );
    const keys = [
      'prediction:with:colon',
      'account:plain',
      'account:with:colon',
      'prediction:unknown',
      'prediction:n\0l',
    ];
    expect(await rig.store.readHeads(keys)).toEqual(
      new Map<string, unknown>([
        [
          'prediction:with:colon',
          { order: JSON.parse(state), revision: 7, sourceVersion: 9_223_372_036_854_775_807n, join: { rank: 2 } },
        ],
        ['account:plain', { order: expect.objectContaining({ orderId: 'plain' }), revision: 1, join: { rank: 5 } }],
      ]),
    );
    expect(await rig.store.readHeads([])).toEqual(new Map());
  });
});

describe('the binding of an order', () => {
  const binding = {
    stream: 'prediction',
    orderId: 'a',
    attemptId: 'tm-1',
    commandId: '7f3c1f6e-1f0e-4c57-9f0a-0d5b8a3f2b10',
    matches: true,
  } as const;
  const bindings = 'select stream, order_id, attempt_id, command_id, matches from order_bindings order by order_id';
  const row = { stream: 'prediction', order_id: 'a', attempt_id: 'tm-1', command_id: binding.commandId, matches: true };

  it('is written with its first revision, or neither is', async () => {
    await using rig = await storeRig();
    const bound = batch(
      rig.epoch,
      1,
      [
        ['a', 1],
        ['b', 1],
      ],
      { bindings: [binding, { ...binding, orderId: 'b', matches: false }] },
    );
    const poisoned = { ...bound, updates: [...bound.updates, update('c', 1, { payload: 'NUL: \0' })] };
    expect((await rig.store.applyBatch(poisoned)).kind).toBe('poison');
    expect(await rig.rows(bindings)).toEqual([]);
    expect(await rig.store.applyBatch({ ...bound, epoch: rig.epoch + 1n })).toEqual({ kind: 'lane_lost' });
    expect(await rig.store.applyBatch(bound)).toMatchObject({ kind: 'committed', lastSeq: expect.any(BigInt) });
    expect(await rig.rows(bindings)).toEqual([row, { ...row, order_id: 'b', matches: false }]);
  });

  it('is the first that was written, and goes with batches that have none in flight', async () => {
    await using rig = await storeRig();
    const results = await Promise.all([
      rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]], { bindings: [binding] })),
      rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]], { bindings: [] })),
      rig.store.applyBatch(batch(rig.epoch, 3, [['a', 3]], { bindings: [binding] })),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['committed', 'committed', 'committed']);
    expect(await rig.rows(bindings)).toEqual([row]);
  });
});

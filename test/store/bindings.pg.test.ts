import { describe, expect, it } from 'vitest';
import { GroupCommit } from '../../src/store/commands/group-commit.ts';
import { createPostgresJournal } from '../../src/store/commands/postgres-journal.ts';
import { attemptId, fence, newPlace, newReplace } from '../support/commands/journal-fixtures.ts';
import { journalRig } from '../support/commands/journal-rig.ts';
import { batch } from '../support/orders/store-rig.ts';
import { storedOrder } from '../support/orders/stored-orders.ts';

describe('bindings', () => {
  it('are what asked for an order under each of its attempts, whatever else an order’s reference says', async () => {
    await using rig = await journalRig();
    const place = newPlace({ callerRef: 'my-1' });
    const plain = newPlace();
    const replace = newReplace('p-1');
    const named = { stream: 'alpaca_paper', accountId: 'acct-1', orderId: 'o-1' } as const;
    const making = newReplace('o-1', { request: { kind: 'replace', ...named, terms: { price: '192' } } });
    const groups = new GroupCommit(rig.deps);
    const journal = createPostgresJournal({ ...rig.deps, groups });
    for (const asked of [place, plain, replace, making]) await journal.open(asked, fence);
    const ids = [place.attemptId, plain.attemptId, replace.attemptId, making.attemptId, attemptId(), 'tm-n\0l'].map(
      String,
    );
    const terms = { stream: 'account', accountId: 'acct-1', side: 'buy' };
    expect(await rig.store.readBindings(ids)).toEqual(
      new Map([
        [place.attemptId, { commandId: place.commandId, callerRef: 'my-1', ...terms }],
        [plain.attemptId, { commandId: plain.commandId, ...terms }],
        [making.attemptId, { commandId: making.commandId, ...terms, stream: 'alpaca_paper', side: null }],
      ]),
    );
    expect(await rig.store.readBindings([])).toEqual(new Map());
    const kept = new Map(ids.map((id) => [id, groups.attempts.get(id)] as const).filter(([, each]) => each));
    expect(kept, 'from memory').toEqual(await rig.store.readBindings(ids));
  });

  it('lead the resolver to the order, its updates and what it is now', async () => {
    await using rig = await journalRig();
    const asked = newPlace();
    const { commandId, attemptId: bound = '' } = asked;
    await rig.journal.open(asked, fence);
    const orders = [1, 2, 3].map((revision) =>
      storedOrder({ orderId: 'o-1', revision, status: revision === 3 ? 'filled' : 'new' }),
    );
    for (const [i, { head, update }] of orders.entries()) {
      const bindings =
        i === 0 ? [{ stream: 'prediction', orderId: 'o-1', attemptId: bound, commandId, matches: true } as const] : [];
      const applied = await rig.store.applyBatch(
        batch(rig.epoch, i + 1, [], { heads: [head], updates: [update], bindings }),
      );
      expect(applied.kind).toBe('committed');
    }
    const order = (i: number) => JSON.parse(orders[i]?.head.state ?? '');
    const version = (revision: number) => 9_007_199_254_740_992n + BigInt(revision);
    const update = (revision: number) => ({
      revision,
      sourceEpoch: 1,
      sourceVersion: version(revision),
      order: order(revision - 1),
    });
    const shown = { cause: 'stream', observedAtMs: expect.any(Number) };
    expect(await rig.journal.boundOrders([commandId, 'no-uuid'])).toEqual([
      { attemptId: bound, commandId, orderId: 'o-1', matches: true },
    ]);
    expect(await rig.journal.boundOrders([])).toEqual([]);
    expect(await rig.journal.updatesAfter('prediction', 'o-1', 1, 10)).toEqual(
      [2, 3].map((n) => ({ ...update(n), ...shown })),
    );
    expect(await rig.journal.updatesAfter('prediction', 'o-1', 0, 1)).toEqual([{ ...update(1), ...shown }]);
    expect(await rig.journal.updatesAfter('account', 'o-1', 0, 1)).toEqual([]);
    expect(await rig.journal.readOrder('prediction', 'o-1')).toEqual({ ...update(3), cause: 'stored' });
    expect(await rig.journal.readOrder('prediction', 'o-2')).toBeUndefined();
  });

  it('find open orders of both streams in pages', async () => {
    await using rig = await journalRig();
    const orders = [
      storedOrder({ orderId: '2', stream: 'account' }),
      storedOrder({ orderId: '1', stream: 'prediction' }),
      storedOrder({ orderId: '1', stream: 'account' }),
      storedOrder({ orderId: '3', stream: 'account', status: 'filled' }),
      storedOrder({ orderId: '4', stream: 'account', accountId: 'acct-2' }),
    ];
    await rig.store.applyBatch(batch(rig.epoch, 1, [], { heads: orders.map(({ head }) => head), updates: [] }));
    const first = await rig.journal.openOrders('acct-1', undefined, 2);
    const idsOf = (page: typeof first) => page.map(({ stream, orderId }) => ({ stream, orderId }));
    expect(idsOf(first)).toEqual(['1', '2'].map((orderId) => ({ stream: 'account', orderId })));
    expect(idsOf(await rig.journal.openOrders('acct-1', first[1], 2))).toEqual([
      { stream: 'prediction', orderId: '1' },
    ]);
  });
});

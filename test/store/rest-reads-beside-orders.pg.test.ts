import { describe, expect, it } from 'vitest';
import { postgresAccountRegistry } from '../../src/store/fleet/account-registry.ts';
import { afterRestore } from '../../src/store/fleet/lane-store.ts';
import type { AccountScope } from '../../src/store/orders/order-reads.ts';
import { answer, atMs, fence, newPlace, newReplace, unknown } from '../support/commands/journal-fixtures.ts';
import { unreadAccount } from '../support/commands/unread-account.ts';
import { all, only, readRig } from '../support/orders/read-rig.ts';
import { storedOrder } from '../support/orders/stored-orders.ts';

describe('the history of an order', () => {
  it('is its payloads by revision, in pages, for whom the order is there', async () => {
    await using rig = await readRig();
    await rig.store({ orderId: 'o-1', accountId: 'a' });
    for (const revision of [2, 3, 4]) await rig.store({ orderId: 'o-1', accountId: 'a', revision });
    await rig.store({ orderId: 'o-2', accountId: 'b' });
    const history = (scope: AccountScope, after = 0, limit = 10) =>
      rig.reads.history(scope, 'prediction', 'o-1', after, limit);
    const updates = [1, 2, 3, 4].map((revision) => ({
      ...{ seq: BigInt(revision), stream: 'prediction', orderId: 'o-1', accountId: 'a', revision },
      payload: storedOrder({ orderId: 'o-1', accountId: 'a', revision }).update.payload,
      recordedAt: expect.any(Date),
    }));
    expect(await history(only('a'))).toEqual(updates);
    expect(await history(all, 1, 2)).toEqual(updates.slice(1, 3));
    expect(await history(only('a'), 4)).toEqual([]);
    expect(await history(only('b'))).toBeUndefined();
    expect(await rig.reads.history(all, 'prediction', 'o-9', 0, 10)).toBeUndefined();
  });
});

describe('updates from a seq on', () => {
  it('are those of the scope, without watermarks, and say how far was looked', async () => {
    await using rig = await readRig();
    const none = { updates: [], lastSeq: 0n, oldestSeq: 1n };
    expect(await rig.reads.updatesAfter(all, 0n, 10)).toEqual(none);
    expect(await rig.reads.newestSeq()).toBe(0n);
    const mark = { stream: 'watermarks', orderId: 'm-1', accountId: 'b', revision: 1, payload: '{}' } as const;
    await rig.store(
      { orderId: 'o-1', accountId: 'a' },
      { orderId: 'o-2', accountId: 'b' },
      { orderId: 'o-3', accountId: 'a' },
    );
    await rig.commit({ updates: [mark] });
    const seqs = async (scope: AccountScope, after: bigint, limit: number) => {
      const { updates, lastSeq } = await rig.reads.updatesAfter(scope, after, limit);
      return [updates.map(({ seq }) => seq), lastSeq];
    };
    expect(await seqs(all, 0n, 10)).toEqual([[1n, 2n, 3n], 4n]);
    expect(await seqs(only('a'), 0n, 10)).toEqual([[1n, 3n], 4n]);
    expect(await seqs(only('a'), 0n, 1)).toEqual([[1n], 1n]);
    expect(await seqs(only('b'), 2n, 10)).toEqual([[], 4n]);
    expect(await seqs(all, 4n, 10)).toEqual([[], 4n]);
    expect(await rig.reads.newestSeq()).toBe(4n);
  });

  it('tell of a gap where the oldest partition begins', async () => {
    await using rig = await readRig();
    await rig.pool.query(
      "select ensure_log_partitions(5000000); select setval('order_updates_seq', 6000000); drop table order_updates_1",
    );
    await rig.store({ orderId: 'o-1' });
    expect(await rig.reads.updatesAfter(all, 0n, 10)).toMatchObject({ lastSeq: 6_000_001n, oldestSeq: 5_000_001n });
  });
});

describe('issue: A stream resumed by an id from before a restore, and did not say that updates were lost.', () => {
  it('the log begins anew behind lost commits, for an id that was lost, and not for one that goes on before them', async () => {
    await using rig = await readRig();
    await rig.store({ orderId: 'o-1' });
    await rig.store({ orderId: 'o-1', revision: 2 });
    await afterRestore(rig.pool, { lane: 0, least: 1, haltId: 'h-1', by: 'a test', partitionRows: 1_000 });
    expect(await rig.reads.updatesAfter(all, 2n, 10)).toMatchObject({ updates: [], lastSeq: 2n });
    const hold = await rig.lanes.acquire(0, 'next', 6_000);
    if (hold.kind !== 'held') throw new Error('the lane is free');
    const { head, update } = storedOrder({ orderId: 'o-1', revision: 3 });
    await rig.commit({ epoch: hold.epoch, heads: [head], updates: [update] });
    const oldest = async (after: bigint) => (await rig.reads.updatesAfter(all, after, 10)).oldestSeq;
    const first = await rig.reads.newestSeq();
    expect(first).toBeGreaterThan(1_000_000_000n);
    expect(await oldest(1n), 'the rows above it are there').toBe(1n);
    for (const lost of [2n, 40n, 900_000n]) expect(await oldest(lost)).toBeGreaterThan(lost + 1n);
    expect(await oldest(first - 1n)).toBeLessThanOrEqual(first);
  });
});

describe('commands', () => {
  it('are listed newest first, filtered, in pages, within the scope', async () => {
    await using rig = await readRig();
    const made = [];
    for (let i = 0; i < 9; i += 1) {
      const at = { atMs: atMs + Math.floor(i / 2), idempotencyKey: `k-${i}`, callerRef: `ref-${i % 4}` };
      made.push(
        await unknown(
          rig.journal,
          i % 3 === 0 ? newReplace('p-1', at) : newPlace(at),
          i % 2 === 0 ? {} : { to: 'applied' },
        ),
      );
    }
    const ids = async (scope: AccountScope, filter = {}) => {
      const found: string[] = [];
      for (let after: readonly string[] | undefined, more = true; more; more = after !== undefined) {
        const page = await rig.reads.listCommands(scope, filter, after, 2);
        found.push(...page.items.map(({ idempotencyKey }) => idempotencyKey));
        after = page.next;
      }
      return found;
    };
    const newestFirst = [...made]
      .sort((a, b) => b.createdAtMs - a.createdAtMs || (a.commandId < b.commandId ? 1 : -1))
      .map((each) => each.idempotencyKey);
    expect(await ids(all)).toEqual(newestFirst);
    expect(await ids(only('acct-1'))).toEqual(newestFirst);
    expect(await ids(only('acct-2'))).toEqual([]);
    expect(await ids(all, { kind: 'replace' })).toEqual(
      newestFirst.filter((key) => ['k-0', 'k-3', 'k-6'].includes(key)),
    );
    expect(await ids(all, { unresolved: true })).toEqual(newestFirst.filter((key) => Number(key.slice(2)) % 2 === 0));
    expect(await ids(all, { unresolved: false, state: 'applied' })).toEqual(
      newestFirst.filter((key) => Number(key.slice(2)) % 2 === 1),
    );
    expect(await ids(only('acct-1'), { idempotencyKey: 'k-4', accountId: 'acct-1' })).toEqual(['k-4']);
    expect(await ids(only('acct-1'), { callerRef: 'ref-0' })).toEqual(
      newestFirst.filter((key) => ['k-0', 'k-4', 'k-8'].includes(key)),
    );
    expect(await ids(only('acct-2'), { callerRef: 'ref-0' })).toEqual([]);
  });

  it('are found by each text that names them whole, within the scope', async () => {
    await using rig = await readRig();
    const place = await unknown(rig.journal, newPlace({ atMs, idempotencyKey: 'k-1', callerRef: 'mine' }));
    const replace = await unknown(rig.journal, newReplace('p-1', { atMs: atMs + 1, idempotencyKey: 'mine' }));
    const found = async (q: string, scope: AccountScope = all) =>
      (await rig.reads.listCommands(scope, { q }, undefined, 10)).items.map(({ commandId }) => commandId);
    expect(await found('mine')).toEqual([replace.commandId, place.commandId]);
    expect(await found('mine', only('acct-2'))).toEqual([]);
    expect(await found(place.commandId)).toEqual([place.commandId]);
    expect(await found(place.attempts[0]?.attemptId ?? '')).toEqual([place.commandId]);
    expect(await found('k-1')).toEqual([place.commandId]);
    expect(await found('p-1')).toEqual([replace.commandId]);
    for (const other of ['min', 'MINE', 'k-2', '{}', "'"]) expect(await found(other)).toEqual([]);
  });

  it('are found with their evidence, and not by a foreign scope', async () => {
    await using rig = await readRig();
    const command = await unknown(rig.journal, newReplace('p-1'));
    const found = await rig.reads.findCommand(only('acct-1'), command.commandId);
    const evidence = found?.evidence ?? [];
    expect(found?.command).toEqual(command);
    expect(evidence.map(({ code }) => code)).toEqual(['prepared', 'sending', 'timeout']);
    expect(evidence.at(-1)).toMatchObject(answer());
    expect(await rig.reads.findCommand(only('acct-2'), command.commandId)).toBeUndefined();
    expect(await rig.reads.findCommand(all, 'no-uuid')).toBeUndefined();
    await rig.pool.query(
      `insert into facts (command_id, behind, body) select $1, 9, '[{"kind":"read","code":"absent","detail":{},"atMs":1}]' from generate_series($2::int, 5000) i`,
      [command.commandId, evidence.length + 1],
    );
    const shown = (await rig.reads.findCommand(all, command.commandId))?.evidence.map(({ number }) => number);
    expect(shown).toEqual(
      [...Array(50).keys()].map((at) => at + 1).concat([...Array(150).keys()].map((at) => at + 4_851)),
    );
  });
});

describe('accounts and exposure', () => {
  it('count open orders by account and stream', async () => {
    await using rig = await readRig();
    const registry = postgresAccountRegistry(rig.deps);
    for (const stream of ['account', 'prediction'] as const) {
      for (const accountId of ['a', 'b']) await registry.save(unreadAccount(accountId, { stream }));
    }
    await rig.store(
      { orderId: '1', accountId: 'a' },
      { orderId: '2', accountId: 'a' },
      { orderId: '3', accountId: 'a', status: 'filled' },
    );
    const row = { accountId: 'a', isSim: true };
    const ofA = [
      { ...row, stream: 'account', openOrders: 0 },
      { ...row, stream: 'prediction', openOrders: 2 },
    ];
    expect(await rig.reads.accounts(only('a'))).toEqual({ items: ofA });
    const { items: every } = await rig.reads.accounts(all);
    expect(every).toHaveLength(4);
    const first = await rig.reads.accounts(all, undefined, 3);
    expect(first).toEqual({ items: every.slice(0, 3), next: ['b', 'account'] });
    expect(await rig.reads.accounts(all, first.next, 3)).toEqual({ items: every.slice(3) });
    expect(await rig.reads.accounts(only('a'), first.next, 3)).toEqual({ items: [] });
  });

  it('add up what is open and what may be', async () => {
    await using rig = await readRig();
    const open = { accountId: 'acct-1', symbol: 'FED', outcome: 'YES' };
    await rig.store(
      { ...open, orderId: 'p-1', leavesQty: '0.1' },
      { ...open, orderId: 'p-2', leavesQty: '0.2' },
      { ...open, orderId: 'p-3', leavesQty: '7', side: 'sell' },
      { ...open, orderId: 'p-4', leavesQty: '0', status: 'filled' },
      { ...open, orderId: 'p-5', accountId: 'acct-2' },
    );
    await unknown(rig.journal, newPlace());
    await unknown(rig.journal, newPlace(), { to: 'applied' });
    await rig.journal.open(newPlace(), fence);
    const raise = newReplace('p-2');
    await unknown(rig.journal, {
      ...raise,
      request: { ...raise.request, terms: { quantity: '0.5' } } as typeof raise.request,
    });
    const none = { openOrders: 0, openQuantity: '0' };
    const rows = [
      {
        accountId: 'acct-1',
        stream: 'account',
        symbol: 'AAPL',
        side: 'buy',
        ...none,
        unresolvedCommands: 2,
        unresolvedQuantity: '20',
      },
      {
        ...{ accountId: 'acct-1', stream: 'prediction', symbol: 'FED', outcome: 'YES', side: 'buy' },
        ...{ openOrders: 2, openQuantity: '0.3', unresolvedCommands: 1, unresolvedQuantity: '0.3' },
      },
      {
        ...{ accountId: 'acct-1', stream: 'prediction', symbol: 'FED', outcome: 'YES', side: 'sell' },
        ...{ openOrders: 1, openQuantity: '7', unresolvedCommands: 0, unresolvedQuantity: '0' },
      },
    ];
    expect(await rig.reads.exposure(only('acct-1'), undefined)).toEqual(rows);
    expect(await rig.reads.exposure(all, 'acct-1')).toEqual(rows);
    expect(await rig.reads.exposure(only('acct-2'), 'acct-1')).toEqual([]);
    expect((await rig.reads.exposure(all, undefined)).map(({ accountId }) => accountId)).toEqual([
      'acct-1',
      'acct-1',
      'acct-1',
      'acct-2',
    ]);
  });
});

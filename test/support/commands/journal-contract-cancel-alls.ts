import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/domain/order.ts';
import { keyOfCancel, type NewCancelAll } from '../../../src/store/commands/cancel-all-journal.ts';
import { equityView, predictionView } from '../orders/arbitrary-orders.ts';
import { atMs, fence, type JournalUnderTest, newCancel, newCancelAll, newPlace, unknown } from './journal-fixtures.ts';

const dayMs = 86_400_000;

export function cancelAllContract(make: () => Promise<JournalUnderTest>): void {
  describe('a cancel-all', () => {
    it('is kept with its list, and found by its key', async () => {
      await using rig = await make();
      const first = newCancelAll({ atMs: Date.now() });
      const selection = { symbol: 'AAPL', side: 'buy', principal: 'robot "7"', reference: 'grid-7' } as const;
      const ofService = newCancelAll({ atMs: Date.now(), selection, onLanding: 'leave' });
      for (const cancelAll of [first, ofService]) {
        expect(await rig.journal.openCancelAll(cancelAll, fence)).toEqual({ kind: 'opened', cancelAll });
        expect(await rig.journal.findCancelAll(0, 'desk', cancelAll.idempotencyKey)).toEqual(cancelAll);
      }
      expect(await rig.journal.findCancelAll(0, 'bot', first.idempotencyKey)).toBeUndefined();
      expect(await rig.journal.findCancelAll(0, 'desk', 'a\0b')).toBeUndefined();
    });

    it('again with the same key is the one with the first list; with another request it is refused', async () => {
      await using rig = await make();
      const first = newCancelAll();
      await rig.journal.openCancelAll(first, fence);
      const { idempotencyKey } = first;
      const later = newCancelAll({
        idempotencyKey,
        orders: [{ accountId: 'acct-1', stream: 'account', orderId: 'later' }],
      });
      expect(await rig.journal.openCancelAll(later, fence)).toEqual({ kind: 'replayed', cancelAll: first });
      expect(await rig.journal.openCancelAll({ ...later, requestHash: 'other' }, fence)).toEqual({
        kind: 'key_reused',
      });
      expect(await rig.journal.openCancelAll({ ...later, principal: 'bot' }, fence)).toMatchObject({ kind: 'opened' });
    });

    it('of another shard is another one', async () => {
      await using rig = await make();
      const ofOther = { shard: 1, epoch: 1n };
      await rig.journal.takeOver(ofOther, atMs, 0);
      const [first, second] = [0, 1].map(() => newCancelAll({ idempotencyKey: 'same', atMs: Date.now() }));
      if (first === undefined || second === undefined) throw new Error('two are needed');
      expect(await rig.journal.openCancelAll(first, fence)).toEqual({ kind: 'opened', cancelAll: first });
      expect(await rig.journal.findCancelAll(1, 'desk', 'same')).toBeUndefined();
      expect(await rig.journal.openCancelAll(second, ofOther)).toEqual({ kind: 'opened', cancelAll: second });
      expect(await rig.journal.findCancelAll(1, 'desk', 'same')).toEqual(second);
    });

    it('ten times at once with one key is one list', async () => {
      await using rig = await make();
      const idempotencyKey = randomUUID();
      const all = Array.from({ length: 10 }, (_, i) =>
        newCancelAll({ idempotencyKey, orders: [{ accountId: 'acct-1', stream: 'account', orderId: `o-${i}` }] }),
      );
      const results = await Promise.all(all.map((each) => rig.journal.openCancelAll(each, fence)));
      expect(results.map(({ kind }) => kind).sort()).toEqual(['opened', ...Array(9).fill('replayed')]);
      expect(new Set(results.map((each) => ('cancelAll' in each ? each.cancelAll.cancelAllId : ''))).size).toBe(1);
    });

    it('may use a key again once it is seven days old and its cancels are final, not before', async () => {
      await using rig = await make();
      const [done, underWay] = [newCancelAll(), newCancelAll()];
      for (const each of [done, underWay]) await rig.journal.openCancelAll(each, fence);
      const inForce = newCancelAll();
      await rig.journal.openCancelAll(inForce, fence);
      for (const { cancelAllId } of [done, underWay]) await rig.journal.endCancelAll(cancelAllId, atMs, fence);
      await unknown(rig.journal, newCancel('o-1', { idempotencyKey: keyOfCancel(done, 0) }), { to: 'applied' });
      await unknown(rig.journal, newCancel('o-2', { idempotencyKey: keyOfCancel(underWay, 0) }));
      const again = ({ idempotencyKey }: NewCancelAll, days: number) =>
        rig.journal.openCancelAll(
          newCancelAll({ idempotencyKey, requestHash: 'other', atMs: atMs + days * dayMs }),
          fence,
        );
      expect(await again(done, 6.9)).toEqual({ kind: 'key_reused' });
      expect(await again(underWay, 7.1)).toEqual({ kind: 'key_reused' });
      expect(await again(inForce, 7.1)).toEqual({ kind: 'key_reused' });
      expect(await again(done, 7.1)).toMatchObject({ kind: 'opened' });
    });

    it('is in force until it is ended, which its shard alone may say', async () => {
      await using rig = await make();
      const [first, second] = [newCancelAll(), newCancelAll({ atMs: atMs + 1 })];
      for (const each of [first, second]) await rig.journal.openCancelAll(each, fence);
      expect(await rig.journal.cancelAllsInForce(0)).toEqual([first, second]);
      expect(await rig.journal.cancelAllsInForce(1)).toEqual([]);
      expect(await rig.journal.endCancelAll(first.cancelAllId, atMs, { ...fence, epoch: fence.epoch + 1n })).toBe(
        false,
      );
      for (let times = 0; times < 2; times += 1)
        expect(await rig.journal.endCancelAll(first.cancelAllId, atMs, fence)).toBe(true);
      expect(await rig.journal.cancelAllsInForce(0)).toEqual([second]);
    });

    it('finds the places whose order nobody has seen, with what they are selected by', async () => {
      await using rig = await make();
      const [open, doubtful, seen, absent] = [newPlace({ callerRef: 'grid-7' }), newPlace(), newPlace(), newPlace()];
      const elsewhere = newPlace({ request: { ...newPlace().request, accountId: 'acct-9' } });
      for (const each of [open, elsewhere]) await rig.journal.open(each, fence);
      await unknown(rig.journal, doubtful);
      await unknown(rig.journal, seen, { to: 'applied', orderId: 'seen' });
      await unknown(rig.journal, absent, { to: 'rejected' });
      await rig.journal.open(newCancel('o-1'), fence);
      const found = await rig.journal.unseenPlaces(['acct-1', 'acct-2']);
      const { accountId, stream } = open.request;
      expect(new Set(found.map(({ commandId }) => commandId))).toEqual(new Set([open.commandId, doubtful.commandId]));
      expect(found.find(({ commandId }) => commandId === open.commandId)).toEqual({
        ...{ accountId, stream, commandId: open.commandId },
        ...{ symbol: 'AAPL', side: 'buy', principal: 'desk', references: ['grid-7', open.attemptId] },
      });
    });

    it('finds the open orders of an account, with what they are selected by', async () => {
      await using rig = await make();
      const place = newPlace({ principal: 'robot', callerRef: 'grid-7' });
      await unknown(rig.journal, place);
      const ours: Order = {
        ...equityView,
        orderId: 'a',
        origin: 'tidemark',
        commandId: place.commandId,
        callerRef: 'grid-7',
      };
      await rig.show(ours, place);
      await rig.show({ ...predictionView, orderId: 'b', side: 'sell', clientOrderRef: 'theirs' });
      // A place named the id, which the platform may have given to another order since.
      await unknown(rig.journal, newPlace({ principal: 'grid', callerRef: 'grid-8' }), {
        to: 'accepted',
        orderId: 'c',
      });
      const { clOrdId: _clOrdId, ...withoutReference } = equityView;
      await rig.show({ ...withoutReference, orderId: 'c' });
      await rig.show({ ...equityView, orderId: 'over', status: 'canceled' });
      expect(await rig.journal.openOrders('acct-1', undefined, 10)).toEqual([
        {
          stream: 'account',
          orderId: 'a',
          symbol: 'AAPL',
          side: 'buy',
          principal: 'robot',
          references: ['grid-7', 'client-1'],
        },
        { stream: 'account', orderId: 'c', symbol: 'AAPL', side: 'buy', references: [] },
        { stream: 'prediction', orderId: 'b', symbol: 'FED-CUT', side: 'sell', references: ['theirs'] },
      ]);
      const asked = ['over', 'a', 'never'].map((orderId) => ({ stream: 'account', orderId }) as const);
      const named = await rig.journal.namedOrders('acct-1', asked);
      expect(named.sort((x, y) => (x.orderId < y.orderId ? -1 : 1))).toEqual([
        {
          stream: 'account',
          orderId: 'a',
          symbol: 'AAPL',
          side: 'buy',
          principal: 'robot',
          references: ['grid-7', 'client-1'],
        },
        { stream: 'account', orderId: 'over', symbol: 'AAPL', side: 'buy', references: ['client-1'] },
      ]);
      expect(await rig.journal.namedOrders('acct-2', asked)).toEqual([]);
    });

    it('is not begun by a holder that was overtaken', async () => {
      await using rig = await make();
      await rig.journal.takeOver({ shard: 0, epoch: 2n }, atMs, 0);
      expect(await rig.journal.openCancelAll(newCancelAll(), fence)).toEqual({ kind: 'fenced' });
    });
  });
}

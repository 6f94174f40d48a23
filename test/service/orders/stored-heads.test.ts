import { describe, expect, it } from 'vitest';
import { parsePlaceAccount, parsePlacePrediction } from '../../../src/contract/command-bodies.ts';
import { type Order, type OrderView, orderKey } from '../../../src/domain/order.ts';
import { bindOrder } from '../../../src/service/orders/load-known.ts';
import { CommandRig, placeEquity, placePrediction, unknown } from '../../support/commands/command-rig.ts';
import { equityView, predictionView } from '../../support/orders/arbitrary-orders.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

describe('issue: A place stayed unknown although its order was shown, because the reference came later.', () => {
  const binding = {
    commandId: 'c-1',
    callerRef: 'my-1',
    stream: 'account',
    accountId: equityView.accountId,
    symbol: equityView.instrument.symbol,
    side: equityView.side,
  } as const;

  async function rigWith(views: readonly OrderView[]) {
    const rig = await ingestRig(1);
    rig.database.attempts.set('tm-1', binding);
    const asked: string[][] = [];
    const { database } = rig;
    const readBindings = database.readBindings.bind(database);
    database.readBindings = (ids) => {
      asked.push([...ids]);
      return readBindings(ids);
    };
    rig.ingest.begin(rig.hold);
    for (const view of views) {
      rig.offer(observe(view));
      await rig.clock.advance(100);
    }
    const updates = database.log.map(
      ({ payload }) => JSON.parse(payload) as { revision: number; changed: string[]; order: Order },
    );
    return { ...rig, asked, updates };
  }

  function bare(step: number): OrderView {
    const { clOrdId: _none, ...view } = orderAt(0, step);
    return view;
  }
  const named = (step: number, reference = 'tm-1'): OrderView => ({ ...bare(step), clOrdId: reference });

  // A list or an event left the client's reference out; what showed it later bound nothing, so that
  // the command stayed unknown with the evidence at hand.
  describe('an order that is first shown without its reference', () => {
    it('is bound by the first view that shows it, and stays so', async () => {
      const { database, updates, handed } = await rigWith([bare(0), bare(1), named(1), bare(2)]);
      expect(
        updates.map(({ revision, changed, order }) => [
          revision,
          order.origin,
          order.commandId,
          changed.includes('commandId'),
        ]),
      ).toEqual([
        [1, 'external', undefined, false],
        [2, 'external', undefined, false],
        [3, 'tidemark', 'c-1', true],
        [4, 'tidemark', 'c-1', false],
      ]);
      expect(updates[2]).toMatchObject({
        changed: ['origin', 'clOrdId', 'commandId', 'callerRef'],
        order: { callerRef: 'my-1' },
      });
      expect([...database.bindings.values()]).toMatchObject([
        { orderId: 'ord-0', attemptId: 'tm-1', commandId: 'c-1', matches: true },
      ]);
      const bound = handed.flatMap(({ rows }) => rows.map((row) => row.bound?.attemptId));
      expect(bound).toEqual([undefined, undefined, 'tm-1', undefined]);
    });

    it('costs one look-up; an order without a reference, of others, or that is bound costs none', async () => {
      const foreign = [named(0, 'desk-1'), named(1, 'desk-1')].map((view) => ({ ...view, orderId: 'foreign' }));
      const lookalike = [bare(0), named(1, 'tm-9'), named(2, 'tm-9'), named(3, 'tm-9')].map((view) => ({
        ...view,
        orderId: 'other',
      }));
      const { asked } = await rigWith([bare(0), bare(1), named(2), named(3), named(4), ...foreign, ...lookalike]);
      expect(asked).toEqual([['tm-1'], ['tm-9']]);
    });

    it('of another side is shown to its command, and stays external', async () => {
      const { database, updates } = await rigWith([bare(0), { ...named(0), clOrdId: 'tm-2' }]);
      expect(updates[1]?.order).toMatchObject({ origin: 'external', clOrdId: 'tm-2' });
      expect(database.bindings.size).toBe(0);
      const other = { ...bare(0), side: 'sell' };
      const rig = await rigWith([other, { ...other, clOrdId: 'tm-1' }]);
      expect(rig.updates[1]?.order.origin).toBe('external');
      expect([...rig.database.bindings.values()]).toMatchObject([{ commandId: 'c-1', matches: false }]);
    });

    it('resolves its command when it is bound', async () => {
      const rig = await CommandRig.leading();
      rig.entry.scripts.push({ result: unknown });
      const { commandId } = await rig.send(placeEquity);
      const { clOrdId, commandId: _ours, ...order } = rig.landed(commandId);
      rig.commit({ ...order, origin: 'external' });
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('unknown');
      rig.commit(rig.landed(commandId), { commandId, binds: true });
      await rig.clock.advance(10);
      expect(clOrdId).toMatch(/^tm-/);
      expect(rig.command(commandId)).toMatchObject({ state: 'applied', orderId: order.orderId });
    });
  });
});

describe('issue: A correction of an order was ignored after its shard had moved away and come back.', () => {
  // Found by reading, for the simulator of a fleet: a shard that was given away and came back met
  // the heads of before in memory. Its first batch was refused, and what the other process had seen
  // corrected counted as unchanged when it was corrected back.
  it('reads the orders of an account again that was with another process', async () => {
    const rig = await ingestRig(4);
    rig.ingest.begin(rig.hold);
    rig.offer(observe(orderAt(1, 1)));
    await rig.clock.advance(100);
    const key = orderKey('account', 'ord-1');
    const head = rig.database.heads.get(key);
    if (head === undefined) throw new Error('the order is stored');
    rig.database.heads.set(key, { ...head, revision: 7 });
    rig.ingest.forgetOrders((accountId) => accountId === head.accountId);
    rig.offer(observe(orderAt(1, 2)));
    await rig.clock.advance(100);
    expect(rig.database.heads.get(key)?.revision).toBe(8);
  });
});

describe('issue: A place of `aapl` ended in conflict because the platform showed its order as `AAPL`.', () => {
  // A caller wrote `aapl`, the platform showed `AAPL`: the order carried our reference with
  // "another symbol", and its place was a conflict.
  describe('a symbol that its caller wrote in another case', () => {
    it.each([
      ['account', parsePlaceAccount, placeEquity, equityView],
      ['prediction', parsePlacePrediction, placePrediction, predictionView],
    ] as const)(
      'is journaled and sent in the case of the platform, and its order is ours: %s',
      (stream, parse, request, view) => {
        const { symbol } = request.terms;
        const body = parse({ accountId: 'acct-1', ...request.terms, symbol: symbol.toLowerCase() });
        if (!body.ok) throw new Error(JSON.stringify(body.faults));
        expect(body.terms.symbol).toBe(symbol);
        const { side } = view;
        const binding = { commandId: 'c-1', stream, accountId: 'acct-1', side };
        expect(bindOrder(view, 'tm-1', binding)).toMatchObject({ row: { matches: true } });
      },
    );
  });
});

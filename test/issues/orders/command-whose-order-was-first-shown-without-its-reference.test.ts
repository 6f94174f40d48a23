// What a user saw: A place stayed unknown although its order was shown, because the reference came later.

import { describe, expect, it } from 'vitest';
import type { Order, OrderView } from '../../../src/domain/order.ts';
import { CommandRig, placeEquity, unknown } from '../../support/commands/command-rig.ts';
import { equityView } from '../../support/orders/arbitrary-orders.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

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

  it('settles its command when it is bound', async () => {
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

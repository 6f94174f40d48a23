import { describe, expect, it } from 'vitest';
import { OrderCancels } from '../../src/console/state/commands/order-cancels.ts';
import { ConsoleRig, listedOf, updateOf } from '../support/rest/console-rig.ts';

const commandId = '6d5c0f0e-3b1f-4c43-9d7b-2f1f3e0f6a11';

describe('cancels of several orders', () => {
  const orderOf = (number: number) => listedOf(updateOf({ orderId: `o-${number}`, accountId: 'ACC-1', revision: 3 }));
  const pathOf = (number: number) => `DELETE /v1/orders/o-${number}?accountId=ACC-1`;

  async function started(count: number) {
    const rig = new ConsoleRig();
    await rig.state.start();
    await rig.settle();
    const orders = Array.from({ length: count }, (_, at) => orderOf(at));
    for (const at of orders.keys()) rig.answers.set(pathOf(at), { status: 202, body: { commandId } });
    const sent = () => rig.asked.filter(({ method }) => method === 'DELETE');
    return { rig, orders, sent, cancels: new OrderCancels(rig.state) };
  }

  it('goes out once for each order, under a key of its own and for any revision, four at a time', async () => {
    const { rig, orders, sent, cancels } = await started(9);
    const gate = Promise.withResolvers<void>();
    for (const at of orders.keys()) rig.held.set(pathOf(at), gate.promise);
    const sending = cancels.send(orders);
    await rig.settle();
    expect(sent()).toHaveLength(4);
    expect(cancels.lines.value.map((line) => line.answer)).toEqual(orders.map(() => undefined));
    gate.resolve();
    await sending;
    expect(sent().map(({ path }) => path)).toEqual(orders.map((_, at) => pathOf(at).slice('DELETE '.length)));
    expect(new Set(sent().map(({ headers }) => headers['idempotency-key'])).size).toBe(9);
    expect(sent().map(({ headers }) => headers['if-match'])).toEqual(orders.map(() => undefined));
    expect(cancels.lines.value.map((line) => line.answer?.kind)).toEqual(orders.map(() => 'ok'));
  });

  it('keeps each refusal beside the others, and tries again what was not taken, under its first key', async () => {
    const { rig, orders, sent, cancels } = await started(3);
    rig.answers.set(pathOf(1), { status: 409, body: { code: 'ACCOUNT_NOT_TRADED', detail: 'it is not traded' } });
    rig.away.add(pathOf(2));
    const sending = cancels.send(orders);
    await rig.settle();
    await rig.pass(500);
    await rig.pass(2_000);
    await sending;
    const kinds = () => cancels.lines.value.map(({ order, answer }) => [order.orderId, answer?.kind]);
    expect(kinds()).toEqual([
      ['o-0', 'ok'],
      ['o-1', 'problem'],
      ['o-2', 'away'],
    ]);
    rig.away.clear();
    await cancels.send(orders.slice(2));
    expect(kinds()).toEqual([
      ['o-1', 'problem'],
      ['o-2', 'ok'],
    ]);
    const keysOf = (order: string) =>
      sent()
        .filter(({ path }) => path.includes(order))
        .map(({ headers }) => headers['idempotency-key']);
    expect([keysOf('o-2').length, new Set(keysOf('o-2')).size]).toEqual([4, 1]);
    // A later cancel of an order is another action.
    await cancels.send(orders.slice(2));
    expect(new Set(keysOf('o-2')).size).toBe(2);
  });
});

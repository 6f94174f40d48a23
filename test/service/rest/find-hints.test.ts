import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/domain/order.ts';
import { findHints } from '../../../src/service/rest/routes/commands.ts';
import type { OrderFilter, OrderReads, StoredOrder } from '../../../src/store/orders/order-reads.ts';
import { cancelOf, commandOf, predictionOrder as ours, placePrediction } from '../../support/commands/resolving.ts';

const predictionOrder: Order = { ...ours, origin: 'external' };
const scope = { kind: 'accounts', accountIds: ['acct-1'] } as const;

function stored(order: Order): StoredOrder {
  const { stream, orderId, accountId } = order;
  return { stream, orderId, accountId, revision: 1, sourceVersion: 1n, state: JSON.stringify(order) };
}

/** Answers each question with the orders of its half, and keeps what was asked. */
function readsOf(open: readonly Order[], closed: readonly Order[]) {
  const asked: OrderFilter[] = [];
  const listOrders: OrderReads['listOrders'] = async (_scope, filter) => {
    asked.push(filter);
    return { items: (filter.open ? open : closed).map(stored) };
  };
  return { listOrders, asked };
}

describe('hints beside an unknown place', () => {
  it('are orders of equal terms, open or over, on its account and symbol', async () => {
    const filled: Order = { ...predictionOrder, orderId: 'b', status: 'filled' };
    const reads = readsOf([predictionOrder, { ...predictionOrder, orderId: 'c', price: '0.9' }], [filled]);
    expect(await findHints(reads, scope, commandOf(placePrediction))).toEqual([predictionOrder.orderId, 'b']);
    const filter = { stream: 'prediction', accountId: 'acct-1', symbol: 'FED-CUT' };
    expect(reads.asked).toEqual([
      { ...filter, open: true },
      { ...filter, open: false },
    ]);
  });

  it('are at most five', async () => {
    const same = Array.from({ length: 9 }, (_, i) => ({ ...predictionOrder, orderId: `o${i}` }));
    expect(await findHints(readsOf(same, []), scope, commandOf(placePrediction))).toHaveLength(5);
  });

  it('are not looked for once the result is known, or where nothing was placed', async () => {
    const reads = readsOf([predictionOrder], []);
    expect(await findHints(reads, scope, commandOf(placePrediction, { state: 'applied' }))).toEqual([]);
    expect(await findHints(reads, scope, commandOf(cancelOf(predictionOrder)))).toEqual([]);
    expect(reads.asked).toEqual([]);
  });
});

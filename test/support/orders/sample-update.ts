import { encodeOrder, encodeUpdate } from '../../../src/domain/encode-update.ts';
import type { Order, OrderView } from '../../../src/domain/order.ts';
import { applied, fold, observe } from './observe.ts';

const view: OrderView = {
  stream: 'account',
  orderId: 'ord-1',
  accountId: 'ACC-1',
  instrument: { kind: 'equity', symbol: 'AAPL' },
  side: 'buy',
  orderType: 'limit',
  timeInForce: 'day',
  status: 'partially_filled',
  statusRaw: 'PARTIALLY_FILLED',
  certainty: 'certain',
  pendingAction: 'none',
  quantity: '100',
  price: '191.5',
  working: { quantity: '100', price: '191.5' },
  cumQty: '40',
  leavesQty: '60',
  avgPrice: '191.25',
  updatedAt: '2026-11-21T14:30:01.000Z',
};

/**
 * The payload of one accepted change of an account order, made as the service makes it: 40 of 100
 * filled, unless told otherwise.
 */
export function sampleUpdate(
  over: Partial<OrderView> & { readonly revision?: number; readonly generation?: number } = {},
): string {
  const { revision = 1, generation = 1, ...changes } = over;
  const { reductions } = fold([observe({ ...view, ...changes })]);
  const { head, changed, fill } = applied(reductions[0]);
  const order: Order = head.order;
  return encodeUpdate({
    head: { ...head, revision },
    orderJson: encodeOrder(order),
    generation,
    cause: 'stream',
    occurredAt: order.updatedAt,
    observedAt: '2026-11-21T14:30:01.250Z',
    changed,
    ...(fill === undefined ? {} : { fill }),
  });
}

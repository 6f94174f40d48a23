import { describe, expect, it } from 'vitest';
import { normalisedOrder } from '../../src/contract/normalised-order.ts';
import type { Order, OrderView } from '../../src/domain/order.ts';
import { composeOrder } from '../../src/domain/order-code.ts';
import { ownFields } from '../../src/domain/order-fields.ts';
import { equityView, instantAt } from '../support/orders/arbitrary-orders.ts';

const full: Required<OrderView> = {
  ...(equityView as Required<OrderView>),
  certaintyReason: 'venue silent',
  stopPrice: '190',
  avgPrice: '191.4',
  clientOrderRef: 'desk:1',
  venueOrderId: 'V1',
  placedBy: 'user-1',
  rejectReason: '99',
  rejectText: 'no',
  createdAt: instantAt(1),
  sentAt: instantAt(2),
  firstAckAt: instantAt(3),
  closedAt: instantAt(4),
  expireTime: instantAt(5),
  extra: { desk: 'x' },
};
const own: Pick<Required<Order>, 'origin' | 'commandId' | 'callerRef' | 'sourceEpoch' | 'conflict'> = {
  origin: 'tidemark',
  commandId: 'c-1',
  callerRef: 'r-1',
  sourceEpoch: 2,
  conflict: 'why',
};

describe('a composed order', () => {
  it('has every field of the view and every field of ours', () => {
    expect(composeOrder(full, own)).toEqual({ ...full, ...own });
  });

  it('has no field in its JSON that the view has not', () => {
    const composed = JSON.parse(JSON.stringify(composeOrder(equityView, { origin: 'external' })));
    expect(Object.keys(composed).sort()).toEqual([...Object.keys(equityView), 'origin'].sort());
  });

  it('has the same fields in the same order as every other', () => {
    const fields = Object.keys(composeOrder(full, own));
    expect(Object.keys(composeOrder(equityView, { origin: 'external' }))).toEqual(fields);
    expect(new Set(fields)).toEqual(new Set(Object.keys(normalisedOrder.shape)));
  });

  it('has the same JSON however the view was put together', () => {
    const reversed = Object.fromEntries(Object.entries(full).reverse()) as unknown as OrderView;
    expect(JSON.stringify(composeOrder(reversed, own))).toBe(JSON.stringify(composeOrder(full, own)));
  });

  it('hands on what is ours, but for the conflict, which is judged anew', () => {
    const { conflict: _conflict, ...kept } = own;
    expect(ownFields(composeOrder(full, own))).toEqual(kept);
  });
});

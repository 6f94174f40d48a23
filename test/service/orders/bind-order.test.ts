import { describe, expect, it } from 'vitest';
import type { OrderView } from '../../../src/domain/order.ts';
import { bindOrder, referenceOf } from '../../../src/service/orders/load-known.ts';
import type { Binding } from '../../../src/store/orders/order-store.ts';
import { equityView } from '../../support/orders/arbitrary-orders.ts';

const attemptId = 'tm-0b0e7a52-5b3f-4d0e-9a53-6a2f0d3c1b11';
const view: OrderView = { ...equityView, clOrdId: attemptId };
const binding: Binding = {
  commandId: 'c-1',
  stream: 'account',
  accountId: view.accountId,
  side: view.side,
};

describe('the reference of an order', () => {
  it('is clOrdId on account orders and clientOrderRef on prediction orders', () => {
    expect(referenceOf(view)).toBe(attemptId);
    expect(referenceOf({ ...view, stream: 'prediction' })).toBeUndefined();
    const { clOrdId: _venue, ...rest } = view;
    expect(referenceOf({ ...rest, stream: 'prediction', clientOrderRef: attemptId })).toBe(attemptId);
  });

  it('is of no interest unless it begins as the ids of our attempts do', () => {
    expect(referenceOf({ ...view, clOrdId: 'desk-7' })).toBeUndefined();
    expect(referenceOf({ ...view, clOrdId: `x${attemptId}` })).toBeUndefined();
    expect(referenceOf({ ...view, clOrdId: 'TM-1' })).toBeUndefined();
  });
});

describe('binding an order', () => {
  it('makes it ours, with the command and the caller’s reference', () => {
    expect(bindOrder(view, attemptId, { ...binding, callerRef: 'basket-1' })).toEqual({
      row: { stream: 'account', orderId: view.orderId, attemptId, commandId: 'c-1', matches: true },
      own: { origin: 'tidemark', commandId: 'c-1', callerRef: 'basket-1' },
    });
  });

  it('leaves the caller’s reference out where there was none', () => {
    expect(bindOrder(view, attemptId, binding)?.own).toEqual({ origin: 'tidemark', commandId: 'c-1' });
  });

  it.each([
    ['account', { accountId: 'another' }],
    ['side', { side: 'sell_short' }],
    ['stream', { stream: 'prediction' as const }],
  ])('keeps an order with another %s external, with a row that says so', (_what, other) => {
    const bound = bindOrder(view, attemptId, { ...binding, ...other });
    expect(bound?.own).toEqual({ origin: 'external' });
    expect(bound?.row).toMatchObject({ commandId: 'c-1', matches: false });
  });

  it.each([
    ['symbol', 'BUY', { instrument: { kind: 'equity', symbol: 'BRK.B' } }],
    ['instrument', 'BUY', { instrument: { kind: 'option', symbol: 'AAPL261218C00200000' } }],
    ['word for a purchase', 'BUY', { side: 'buy_to_cover' }],
    ['word for a sale', 'SELL', { side: 'sell_short' }],
    ['word for a sale', 'SELL_SHORT', { side: 'sell' }],
  ] as const)('makes an order ours that has another %s than was sent', (_what, side, over) => {
    const bound = bindOrder({ ...view, ...over }, attemptId, { ...binding, side });
    expect(bound).toMatchObject({ row: { matches: true }, own: { origin: 'tidemark', commandId: 'c-1' } });
  });

  it('does nothing for a reference that only looks like ours', () => {
    expect(bindOrder(view, attemptId, undefined)).toBeUndefined();
  });
});

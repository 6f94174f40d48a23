import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/domain/order.ts';
import { resembles } from '../../../src/domain/presumed-absent.ts';
import { resolveCommand } from '../../../src/domain/resolve-command.ts';
import {
  cancelOf,
  commandOf,
  equityOrder,
  placeEquity,
  placePrediction,
  predictionOrder,
  updateAt,
} from '../../support/commands/resolving.ts';

const unknown = commandOf(placePrediction);
const order = (over: Partial<Order> = {}): Order => ({ ...predictionOrder, origin: 'external', ...over });

describe('an order of equal terms', () => {
  it('resembles an unknown place in whose time it was made', () => {
    expect(resembles(unknown, order())).toBe(true);
    expect(resembles(commandOf(placeEquity), { ...equityOrder, origin: 'external' })).toBe(true);
    expect(resembles(unknown, order({ createdAt: '2026-11-21T13:05:00+01:00' }))).toBe(true);
  });

  it.each<Partial<Order>>([
    { accountId: 'acct-2' },
    { side: 'sell' },
    { quantity: '11' },
    { price: '0.41' },
    { stopPrice: '0.3' },
    { orderType: 'market' },
    { timeInForce: 'day' },
    { instrument: { kind: 'prediction', symbol: 'FED-CUT', outcome: 'NO' } },
    { instrument: { kind: 'prediction', symbol: 'FED-HIKE', outcome: 'YES' } },
    { createdAt: '2026-11-21T11:58:59Z' },
    { createdAt: '2026-11-21T12:11:03Z' },
    { origin: 'tidemark' },
    { clientOrderRef: 'of-somebody' },
  ])('does not with %j', (over) => {
    expect(resembles(unknown, order(over))).toBe(false);
  });

  const leg = { symbol: 'AAPL261218C00200000', side: 'buy', ratioQty: '1' };

  it.each<Partial<Order>>([
    { side: 'sell' },
    { quantity: '11' },
    { price: '191.4' },
    { stopPrice: '190' },
    { orderType: 'stop_limit' },
    { timeInForce: 'gtc' },
    { instrument: { kind: 'equity', symbol: 'MSFT' } },
    { instrument: { kind: 'option', symbol: 'AAPL', legs: [leg] } },
    { accountId: 'acct-2' },
    { origin: 'tidemark' },
  ])('of an account does not with %j', (over) => {
    expect(resembles(commandOf(placeEquity), { ...equityOrder, origin: 'external', ...over })).toBe(false);
  });

  it.each(['190', undefined])('resembles a stop order by its stop price alone, not with %s', (stopPrice) => {
    const account = { ...placeEquity, terms: { ...placeEquity.terms, stopPrice: '189' } };
    const prediction = { ...placePrediction, terms: { ...placePrediction.terms, stopPx: '189' } };
    const { stopPrice: _none, ...bare } = equityOrder;
    const { stopPrice: _neither, ...plain } = predictionOrder;
    const shown = (of: Order, price: string | undefined): Order => ({
      ...of,
      origin: 'external',
      ...(price !== undefined && { stopPrice: price }),
    });
    expect(resembles(commandOf(account), shown(bare, '189'))).toBe(true);
    expect(resembles(commandOf(prediction), shown(plain, '189'))).toBe(true);
    expect(resembles(commandOf(account), shown(bare, stopPrice))).toBe(false);
    expect(resembles(commandOf(prediction), shown(plain, stopPrice))).toBe(false);
  });

  it('resembles no place whose result is known, and nothing that is no place', () => {
    for (const state of ['open', 'accepted', 'applied', 'not_sent', 'conflict'] as const)
      expect(resembles({ ...unknown, state }, order())).toBe(false);
    expect(resembles(commandOf(cancelOf(predictionOrder)), order())).toBe(false);
  });

  it('is a hint and never a verdict', () => {
    expect(resolveCommand({ command: unknown, updates: [updateAt(1)] })).toEqual({ kind: 'nothing' });
  });
});

import { describe, expect, it } from 'vitest';
import { commandExposure } from '../../src/domain/limits.ts';
import {
  cancelOf,
  commandOf,
  placeEquity,
  placePrediction,
  predictionOrder,
  replaceOf,
} from '../support/commands/resolving.ts';

describe('exposure', () => {
  it('of a place that is not over is its whole quantity, until its order is there to be counted', () => {
    for (const state of ['open', 'unknown', 'accepted', 'conflict'] as const) {
      expect(commandExposure(commandOf(placeEquity, { state }))).toEqual({
        accountId: 'acct-1',
        stream: 'account',
        symbol: 'AAPL',
        side: 'buy',
        quantity: '10',
      });
    }
    expect(commandExposure(commandOf(placePrediction))).toMatchObject({ outcome: 'YES', side: 'buy', quantity: '10' });
    expect(commandExposure(commandOf(placePrediction, { orderId: 'one' }))).toBeUndefined();
  });

  it('of a place that is presumed absent is the same: the label frees nothing', () => {
    expect(commandExposure(commandOf(placePrediction, { presumedAbsent: true }))).toMatchObject({ quantity: '10' });
  });

  it('of a replace is what its total is above the one at work, and never less than nothing', () => {
    const of = (terms: object, over = {}) =>
      commandExposure(commandOf(replaceOf(terms)), { ...predictionOrder, ...over });
    expect(of({ quantity: '12.5' })).toMatchObject({ symbol: 'FED-CUT', outcome: 'YES', side: 'buy', quantity: '2.5' });
    expect(of({ quantity: '12.5' }, { working: { quantity: '12.5' } })).toBeUndefined();
    expect(of({ quantity: '9' })).toBeUndefined();
    expect(of({ price: '0.5' })).toBeUndefined();
  });

  it('of cancels, and of what is over, is nothing', () => {
    expect(commandExposure(commandOf(cancelOf(predictionOrder)), predictionOrder)).toBeUndefined();
    for (const state of ['applied', 'rejected', 'refused', 'not_sent', 'moot'] as const)
      expect(commandExposure(commandOf(placeEquity, { state }))).toBeUndefined();
  });
});

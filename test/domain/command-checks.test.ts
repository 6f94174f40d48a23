import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../src/domain/command.ts';
import { checkPlace, checkReplace } from '../../src/domain/command-checks.ts';
import type { Order } from '../../src/domain/order.ts';
import {
  cancelOf,
  commandOf,
  placeEquity,
  placePrediction,
  predictionOrder,
  replaceOf,
} from '../support/commands/resolving.ts';

type Of<K> = Extract<CommandRequest, { kind: K }>;
const place = placePrediction as Of<'place'>;
const terms = (of: object) => replaceOf(of) as Of<'replace'>;
const order = (over: Partial<Order> = {}): Order => ({ ...predictionOrder, ...over });
const code = (refusal: { code: string } | undefined) => refusal?.code;

describe('a place', () => {
  const prior = commandOf(place, { commandId: 'a' });

  it.each(['open', 'unknown', 'conflict'] as const)('is refused while an equal one is %s', (state) => {
    expect(code(checkPlace(place, [{ ...prior, state }], undefined))).toBe('UNRESOLVED_PRIOR_COMMAND');
  });

  it('passes beside an equal one that is resolved', () => {
    for (const state of ['accepted', 'applied', 'rejected', 'refused', 'not_sent', 'moot'] as const)
      expect(checkPlace(place, [{ ...prior, state }], undefined)).toBeUndefined();
  });

  it('passes beside one with other terms, on another account, or on the other stream', () => {
    const others = [
      { ...place, accountId: 'acct-2' },
      { ...place, terms: { ...place.terms, quantity: '11' } },
      { ...place, terms: { ...place.terms, side: 'sell' } },
      { ...place, terms: { ...place.terms, outcome: 'NO' } },
      placeEquity,
    ] as const;
    for (const request of others)
      expect(checkPlace(place, [commandOf(request as CommandRequest)], undefined)).toBeUndefined();
  });

  it('is compared by value: an expiry in another zone is the same expiry', () => {
    const gtd = (expireTime: string) =>
      ({ ...place, terms: { ...place.terms, timeInForce: 'gtd', expireTime } }) as Of<'place'>;
    const earlier = commandOf(gtd('2026-12-31T12:00:00Z'));
    expect(code(checkPlace(gtd('2026-12-31T13:00:00.000+01:00'), [earlier], undefined))).toBe(
      'UNRESOLVED_PRIOR_COMMAND',
    );
    expect(checkPlace(gtd('2026-12-31T12:00:01Z'), [earlier], undefined)).toBeUndefined();
  });

  it('passes once it names the one that is presumed absent', () => {
    expect(checkPlace(place, [{ ...prior, presumedAbsent: true }], 'a')).toBeUndefined();
    expect(code(checkPlace(place, [{ ...prior, presumedAbsent: true }], undefined))).toBe('UNRESOLVED_PRIOR_COMMAND');
  });

  it('does not pass by naming one that is not presumed absent, is no place, or is none of this account', () => {
    expect(code(checkPlace(place, [prior], 'a'))).toBe('SUPERSEDED_NOT_ABSENT');
    expect(code(checkPlace(place, [{ ...prior, presumedAbsent: true, state: 'conflict' }], 'a'))).toBe(
      'SUPERSEDED_NOT_ABSENT',
    );
    expect(code(checkPlace(place, [], 'a'))).toBe('SUPERSEDED_NOT_ABSENT');
    const foreign = commandOf({ ...place, accountId: 'acct-2' }, { commandId: 'a', presumedAbsent: true });
    expect(code(checkPlace(place, [foreign], 'a'))).toBe('SUPERSEDED_NOT_ABSENT');
    const cancel = commandOf(cancelOf(predictionOrder), { commandId: 'a', presumedAbsent: true });
    expect(code(checkPlace(place, [cancel], 'a'))).toBe('SUPERSEDED_NOT_ABSENT');
  });

  it('releases with the one that it names those that this one had taken the place of, and no other', () => {
    const absent = { ...prior, presumedAbsent: true };
    const second = { ...absent, commandId: 'b', supersedes: 'a' };
    expect(checkPlace(place, [absent, second], 'b')).toBeUndefined();
    expect(code(checkPlace(place, [absent, second, { ...prior, commandId: 'c' }], 'b'))).toBe(
      'UNRESOLVED_PRIOR_COMMAND',
    );
    expect(code(checkPlace(place, [absent, { ...absent, commandId: 'd' }], 'd'))).toBe('UNRESOLVED_PRIOR_COMMAND');
  });

  it('is not held up by replaces and cancels', () => {
    expect(
      checkPlace(place, [commandOf(cancelOf(predictionOrder)), commandOf(replaceOf({ price: '0.5' }))], undefined),
    ).toBeUndefined();
  });
});

describe('a replace', () => {
  it.each(['filled', 'canceled', 'expired', 'rejected'] as const)('of an order that is %s is refused', (status) => {
    expect(code(checkReplace(terms({ price: '0.5' }), order({ status }), []))).toBe('ORDER_CLOSED');
  });

  it.each(['replace', 'cancel'])('behind a pending %s is refused', (pendingAction) => {
    expect(code(checkReplace(terms({ price: '0.5' }), order({ pendingAction }), []))).toBe('ORDER_ACTION_PENDING');
  });

  it('behind a replace or cancel of ours that is not over is refused', () => {
    for (const request of [replaceOf({ price: '0.6' }), cancelOf(predictionOrder)])
      for (const state of ['open', 'unknown', 'accepted', 'conflict'] as const)
        expect(code(checkReplace(terms({ price: '0.5' }), order(), [commandOf(request, { state })]))).toBe(
          'ORDER_ACTION_PENDING',
        );
  });

  it('passes behind one that is over, one of another order, and a place', () => {
    const over = commandOf(replaceOf({ price: '0.6' }), { state: 'rejected' });
    const other = commandOf({ ...replaceOf({ price: '0.6' }), orderId: 'other' } as CommandRequest);
    expect(checkReplace(terms({ price: '0.5' }), order(), [over, other, commandOf(place)])).toBeUndefined();
  });

  it('to a total below what is filled is refused, to exactly that it passes', () => {
    const filled = order({ cumQty: '4', status: 'partially_filled' });
    expect(code(checkReplace(terms({ quantity: '3.999' }), filled, []))).toBe('QUANTITY_BELOW_FILLED');
    expect(checkReplace(terms({ quantity: '4' }), filled, [])).toBeUndefined();
    expect(code(checkReplace(terms({ quantity: '9' }), order({ cumQty: '10' }), []))).toBe('QUANTITY_BELOW_FILLED');
  });

  it('that changes nothing against the working terms is refused', () => {
    const amended = order({ working: { quantity: '12', price: '0.5' } });
    for (const same of [{ quantity: '12' }, { price: '0.5' }, { quantity: '12', price: '0.5' }])
      expect(code(checkReplace(terms(same), amended, []))).toBe('NO_CHANGE');
    for (const change of [{ quantity: '10' }, { price: '0.4' }, { quantity: '12', price: '0.4' }])
      expect(checkReplace(terms(change), amended, [])).toBeUndefined();
  });

  it('to the submitted price of an order that the venue has not acknowledged changes nothing', () => {
    expect(code(checkReplace(terms({ price: '0.4' }), order({ working: { quantity: '10' } }), []))).toBe('NO_CHANGE');
  });

  it('of a term that never shows at work is left to the platform: it may be a change back', () => {
    expect(checkReplace(terms({ timeInForce: 'gtc' }), order(), [])).toBeUndefined();
    expect(checkReplace(terms({ price: '0.4', timeInForce: 'gtc' }), order(), [])).toBeUndefined();
  });
});

import { describe, expect, it } from 'vitest';
import {
  type Bounds,
  changedBounds,
  describeBreach,
  type LimitRow,
  type LimitScope,
  limitNames,
  loosens,
  opens,
  requiredLimits,
} from '../../src/domain/limits.ts';

describe('a change of bounds', () => {
  it('keeps what it does not name, and takes away what is null', () => {
    const before: Bounds = { maxQuantity: '5', maxNotional: '9', instruments: ['equity'] };
    expect(changedBounds(before, { maxQuantity: '6', maxNotional: null, collarPercent: undefined })).toEqual({
      maxQuantity: '6',
      instruments: ['equity'],
    });
  });

  it.each<[string, Bounds, Bounds]>([
    ['a higher number', { maxQuantity: '9.5' }, { maxQuantity: '10' }],
    ['a number that goes', { maxQuantity: '5', maxNotional: '1' }, { maxQuantity: '5' }],
    ['more in a minute', { ordersPerMinute: 9 }, { ordersPerMinute: 10 }],
    ['a shorter window for duplicates', { duplicateWindowMs: 1_000 }, { duplicateWindowMs: 999 }],
    ['one more symbol that is allowed', { allowedSymbols: ['A'] }, { allowedSymbols: ['A', 'B'] }],
    ['another symbol that is allowed', { allowedSymbols: ['A'] }, { allowedSymbols: ['B'] }],
    ['one symbol less that is forbidden', { forbiddenSymbols: ['A', 'B'] }, { forbiddenSymbols: ['A'] }],
    ['one more instrument', { instruments: ['equity'] }, { instruments: ['equity', 'option'] }],
    ['an older quote than the usual', {}, { maxQuoteAgeMs: 10_001 }],
    ['a quote of the usual age for a younger one', { maxQuoteAgeMs: 500 }, {}],
    [
      'one that is raised beside one that is lowered',
      { maxQuantity: '5', maxNotional: '9' },
      { maxQuantity: '4', maxNotional: '10' },
    ],
  ])('lets more through with %s', (_what, before, after) => {
    expect(loosens(before, after)).toBe(true);
  });

  it.each<[string, Bounds, Bounds]>([
    ['the same', { maxQuantity: '5', allowedSymbols: ['A'] }, { maxQuantity: '5', allowedSymbols: ['A'] }],
    ['a first bound', {}, { maxQuantity: '5', allowedSymbols: ['A'], instruments: ['option'], duplicateWindowMs: 5 }],
    ['a lower number', { maxQuantity: '10' }, { maxQuantity: '9.5' }],
    ['a longer window for duplicates', { duplicateWindowMs: 999 }, { duplicateWindowMs: 1_000 }],
    ['one symbol less that is allowed', { allowedSymbols: ['A', 'B'] }, { allowedSymbols: ['B'] }],
    ['one more that is forbidden', { forbiddenSymbols: ['A'] }, { forbiddenSymbols: ['A', 'B'] }],
    ['a younger quote than the usual', {}, { maxQuoteAgeMs: 9_999 }],
  ])('lets no more through with %s', (_what, before, after) => {
    expect(loosens(before, after)).toBe(false);
  });
});

describe('the age of a quote', () => {
  const ofAccount = { accountId: 'a' };
  it('of a narrower row lets more through only where that row held it back', () => {
    expect(loosens({}, { maxQuoteAgeMs: 60_000 }, ofAccount)).toBe(false);
    expect(loosens({ maxQuoteAgeMs: 500 }, {}, ofAccount)).toBe(true);
    expect(loosens({ maxQuoteAgeMs: 500 }, { maxQuoteAgeMs: 501 }, ofAccount)).toBe(true);
    expect(loosens({ maxQuoteAgeMs: 501 }, { maxQuoteAgeMs: 500 }, ofAccount)).toBe(false);
  });
});

describe('a first bound that a real account must have', () => {
  const row = (scope: LimitScope, bounds: Bounds): LimitRow => ({
    ...scope,
    bounds,
    changedBy: 'o',
    reason: 'r',
    changedAtMs: 0,
  });
  const of = { principal: 'p', accountId: 'a' };
  const wider = [{}, { principal: 'p' }, { accountId: 'a' }];
  const others = [
    { principal: 'q' },
    { accountId: 'b' },
    { principal: 'q', accountId: 'a' },
    { principal: 'p', accountId: 'b' },
  ];

  it.each(requiredLimits)('opens by %s, unless a wider row has it', (name) => {
    const bound: Bounds = { [name]: name === 'ordersPerMinute' ? 5 : '5' };
    expect(opens([], of, {}, bound)).toBe(true);
    for (const scope of others) expect(opens([row(scope, bound)], of, {}, bound), JSON.stringify(scope)).toBe(true);
    for (const scope of wider) {
      expect(opens([row(scope, bound)], of, {}, bound), JSON.stringify(scope)).toBe(false);
      expect(opens([row(of, bound)], scope, {}, bound), JSON.stringify(scope)).toBe(true);
    }
    expect(opens([row(of, bound)], of, bound, bound)).toBe(false);
    expect(opens([], of, bound, {})).toBe(false);
  });

  it('is no other bound', () => {
    const required: readonly string[] = requiredLimits;
    const others = limitNames.filter((name) => !required.includes(name));
    expect(others.length).toBeGreaterThan(0);
    for (const name of others) expect(opens([], of, {}, { [name]: 5 } as Bounds), name).toBe(false);
  });
});

describe('a breach', () => {
  it('names limit, value and bound', () => {
    expect(describeBreach({ limit: 'maxQuantity', value: '10', bound: '5' }, 'ACC-1')).toBe(
      'the limit maxQuantity is 5, and with this command it would be 10',
    );
  });

  it('says why it has no value', () => {
    expect(
      describeBreach({ limit: 'collarPercent', bound: '5', why: 'there is no quote', needsQuote: true }, 'ACC-1'),
    ).toBe("the limit collarPercent (5) can't be evaluated: there is no quote");
  });

  it('says what to run where a real account has none', () => {
    expect(describeBreach({ limit: 'required', bound: 'maxNotional' }, 'ACC-1')).toContain(
      'it has none for maxNotional: run tidemark limits set --account ACC-1',
    );
  });
});

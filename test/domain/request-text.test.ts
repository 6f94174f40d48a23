import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../src/domain/command.ts';
import { canonicalRequest, canonicalTerms } from '../../src/domain/command-checks.ts';
import { cancelOf, placeEquity, placePrediction, predictionOrder } from '../support/commands/resolving.ts';

function reversed<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, field]) => [key, reversed(field)]),
  ) as T;
}

describe('the text of a request', () => {
  it('is the same whatever the order of its fields, and whether the absent is left out or undefined', () => {
    for (const request of [placeEquity, placePrediction, cancelOf(predictionOrder)]) {
      expect(canonicalRequest({ request: reversed(request) })).toBe(canonicalRequest({ request }));
      expect(canonicalRequest({ request, callerRef: undefined, supersedes: undefined })).toBe(
        canonicalRequest({ request }),
      );
    }
  });

  it('differs with every field, and with what the caller said beside it', () => {
    const base = { request: placePrediction, callerRef: 'a' };
    const texts = [
      base,
      { request: placePrediction },
      { ...base, callerRef: 'b' },
      { ...base, supersedes: 'a' },
      { ...base, request: { ...placePrediction, accountId: 'acct-2' } },
      { ...base, request: { ...placePrediction, terms: { ...placePrediction.terms, price: '0.41' } } },
      { ...base, request: cancelOf(predictionOrder) },
    ].map((each) => canonicalRequest(each as { request: CommandRequest }));
    expect(new Set(texts).size).toBe(texts.length);
  });

  it('takes no field for another: quotes and colons in text stay text', () => {
    const request = (symbol: string) => ({ ...placeEquity, terms: { ...placeEquity.terms, symbol } }) as CommandRequest;
    expect(canonicalTerms(request('a","side":"BUY'))).not.toBe(canonicalTerms(request('a')));
  });

  it('keeps legs in their order', () => {
    const leg = (side: string) => ({ symbol: 'X', side, ratioQty: '1' });
    const legs = (...sides: string[]) =>
      ({ ...placeEquity, terms: { ...placeEquity.terms, legs: sides.map(leg) } }) as CommandRequest;
    expect(canonicalTerms(legs('BUY', 'SELL'))).not.toBe(canonicalTerms(legs('SELL', 'BUY')));
  });
});

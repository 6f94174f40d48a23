// What a user saw: One reference in two spellings was two orders, and ours in capitals was another's.

import { describe, expect, it } from 'vitest';
import { parseCancelAll, parsePlaceAccount } from '../../../src/contract/command-bodies.ts';
import { parseLimitsChange } from '../../../src/contract/limit-bodies.ts';
import { canonicalRequest } from '../../../src/domain/command-checks.ts';
import { isSelected } from '../../../src/domain/select-orders.ts';
import { bindOrder, referenceOf, referenceToBind } from '../../../src/service/orders/load-known.ts';
import { equityView, predictionView } from '../../support/orders/arbitrary-orders.ts';

const body = {
  ...{ accountId: 'acct-1', symbol: 'AAPL', side: 'BUY', type: 'MARKET', qty: '1', timeInForce: 'DAY' },
  clientId: 'café-7',
};

/** What the idempotency key compares, and what `TIDEMARK_CALLER_REF=unique` does. */
function formsOf(clientId: unknown): { readonly hash: string; readonly callerRef: string | undefined } {
  const parsed = parsePlaceAccount({ ...body, clientId });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  const { accountId, terms, callerRef } = parsed;
  return {
    hash: canonicalRequest({ request: { kind: 'place', stream: 'account', accountId, terms }, callerRef }),
    callerRef,
  };
}

describe('a reference of a caller', () => {
  it.each(['café-7'.normalize('NFD'), ' café-7', 'café-7  ', '\u00a0café-7\u2003'])(
    'is one in the spelling %j',
    (spelled) => {
      expect(formsOf(spelled)).toEqual(formsOf('café-7'));
      const selected = parseCancelAll({ reason: 'over', reference: spelled });
      expect(selected).toMatchObject({ ok: true, only: { reference: 'café-7' } });
    },
  );

  it.each(['cafe-7', 'CAFÉ-7', 'café-\u06f7', 'c\u0430fé-7', 'café 7'])('stays another one as %j', (other) => {
    expect(formsOf(other).callerRef).toBe(other);
    expect(formsOf(other).hash).not.toBe(formsOf('café-7').hash);
  });

  it.each(['', '  ', '\u2003', null])('is none as %j', (none) => {
    expect(formsOf(none)).toEqual(formsOf(null));
    expect(formsOf(none).callerRef).toBeUndefined();
  });
});

describe('our own reference on an order', () => {
  const attemptId = 'tm-01999f00-0000-7000-8000-00000000000a';
  const binding = { commandId: 'c', stream: 'account', accountId: 'acct-1', side: equityView.side } as const;

  it('is ours in capitals too, and ties the order to its attempt', () => {
    for (const spelled of [attemptId, attemptId.toUpperCase(), `TM${attemptId.slice(2)}`, `Tm${attemptId.slice(2)}`]) {
      const view = { ...equityView, accountId: 'acct-1', clOrdId: spelled };
      expect(referenceOf(view)).toBe(attemptId);
      expect(referenceToBind(undefined, { view: { ...predictionView, clientOrderRef: spelled } })).toBe(attemptId);
      expect(bindOrder(view, attemptId, binding)).toMatchObject({ row: { matches: true } });
    }
    for (const foreign of ['xtm-1', 'TM-1', `x${attemptId.toUpperCase()}`, undefined]) {
      const { clOrdId: _none, ...view } = equityView;
      expect(referenceOf({ ...view, ...(foreign !== undefined && { clOrdId: foreign }) })).toBeUndefined();
    }
  });
});

describe('a cancel-all of a symbol', () => {
  const of = (stream: 'account' | 'prediction', symbol: string) =>
    ({ stream, symbol, side: 'buy', references: [] }) as const;

  it('reaches an order whose share class the platform writes in another way, and no other market', () => {
    for (const shown of ['BRK/B', 'BRK.B', 'BRKB', 'brk b'])
      expect(isSelected(of('account', shown), { symbol: 'BRK.B' }), shown).toBe(true);
    expect(isSelected(of('account', 'BRK.A'), { symbol: 'BRK.B' })).toBe(false);
    expect(isSelected(of('prediction', 'T3.5'), { symbol: 'T35' })).toBe(false);
    expect(isSelected(of('prediction', 't35'), { symbol: 'T35' })).toBe(true);
  });
});

/** A limit for such a name limited nothing, and a cancel-all of its orders found none. */
describe('a principal that no caller can be', () => {
  it.each(['robot ', ' robot', 'ro bot', 'rоbot', 'robot\u200b', 'röbot', ''])('is refused: %j', (principal) => {
    const limits = parseLimitsChange({ principal, bounds: { maxQuantity: '1' }, reason: 'slow' });
    expect(limits).toMatchObject({ ok: false, faults: [{ path: 'principal' }] });
    expect(parseCancelAll({ reason: 'over', principal })).toMatchObject({ ok: false, faults: [{ path: 'principal' }] });
  });

  it.each(['robot', 'Robot_1.x-y', 'jwt:https://id.example/#auth0|7', 'jwt:https://id.example#a@b'])(
    'is none of these: %s',
    (principal) => {
      expect(parseLimitsChange({ principal, bounds: { maxQuantity: '1' }, reason: 'slow' })).toMatchObject({
        ok: true,
        scope: { principal },
      });
      expect(parseCancelAll({ reason: 'over', principal })).toMatchObject({ ok: true, only: { principal } });
    },
  );
});

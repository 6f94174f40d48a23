import { describe, expect, it } from 'vitest';
import type { AccountPlaceTerms, ReplaceTerms } from '../../../src/domain/command.ts';
import { judgeAlpacaWrite, prepareAlpacaWrite } from '../../../src/venue/alpaca/alpaca-writes.ts';

const about = { stream: 'alpaca', accountId: 'acct-1' } as const;
const limit = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', price: '187.5' };
const call = { symbol: 'AAPL261218C00200000', side: 'SELL', ratioQty: '1', positionEffect: 'OPEN' };
const place = (over: Partial<AccountPlaceTerms> = {}) =>
  prepareAlpacaWrite({ kind: 'place', ...about, terms: { ...limit, ...over } }, 'tm-1');

describe('a place', () => {
  it.each<[string, Partial<AccountPlaceTerms>, object]>([
    ['a limit order', {}, { limit_price: '187.5' }],
    ['an order in dollars', { currency: 'USD' }, { limit_price: '187.5' }],
    ['a stop-limit order', { type: 'STOP_LIMIT', stopPrice: '180' }, { type: 'stop_limit', stop_price: '180' }],
    ['a short sale', { side: 'SELL_SHORT' }, { side: 'sell', position_intent: 'sell_to_open' }],
    ['the end of a short sale', { side: 'BUY_TO_COVER' }, { side: 'buy', position_intent: 'buy_to_close' }],
    ['an order beyond the session', { extendedHours: true }, { limit_price: '187.5', extended_hours: true }],
    ['one contract', { legs: [call] }, { symbol: call.symbol, side: 'sell', position_intent: 'sell_to_open' }],
  ])('of %s has the words of Alpaca, and the attempt as its reference', (_what, over, shown) => {
    const prepared = place(over);
    expect(prepared).toMatchObject({ method: 'POST', path: '/v2/orders' });
    expect(JSON.parse('body' in prepared ? (prepared.body ?? '') : '')).toEqual({
      ...{ symbol: 'AAPL', side: 'buy', type: 'limit', qty: '10', time_in_force: 'day', limit_price: '187.5' },
      client_order_id: 'tm-1',
      ...shown,
    });
  });

  it.each<[string, Partial<AccountPlaceTerms>, RegExp]>([
    ['several legs', { legs: [call, { ...call, side: 'BUY' }] }, /legs/],
    ['a leg twice', { legs: [{ ...call, ratioQty: '2' }] }, /legs/],
    ['another currency', { currency: 'EUR' }, /currency/],
    ['an exchange', { exDestination: 'XNYS' }, /exDestination/],
    ['a word of another venue', { timeInForce: 'GTD' }, /time_in_force/],
  ])('with %s is not sent, and says why', (_what, over, message) => {
    expect(place(over)).toMatchObject({
      kind: 'not_sent',
      mayRepeat: false,
      reason: { code: 'INVALID_REQUEST', message: expect.stringMatching(message) },
    });
  });

  it('of another stream is not sent', () => {
    const request = { kind: 'place', stream: 'account', accountId: 'acct-1', terms: limit } as const;
    const result = judgeAlpacaWrite(request, 'tm-1', { kind: 'answered', status: 200, headers: {}, text: '{}' });
    expect(result).toMatchObject({ kind: 'not_sent', reason: { message: 'Alpaca has no stream account' } });
  });
});

describe('a replace', () => {
  const replace = (terms: ReplaceTerms) =>
    prepareAlpacaWrite({ kind: 'replace', ...about, orderId: '904837e3-3b76-47ec-b432-046db621571b', terms }, 'tm-2');

  it('has the new terms alone, and the attempt as the reference of the order that it makes', () => {
    const prepared = replace({ quantity: '12', price: '187.6', stopPx: '180', timeInForce: 'gtc' });
    expect(prepared).toMatchObject({ method: 'PATCH', path: '/v2/orders/904837e3-3b76-47ec-b432-046db621571b' });
    expect(JSON.parse('body' in prepared ? (prepared.body ?? '') : '')).toEqual({
      ...{ qty: '12', limit_price: '187.6', stop_price: '180', time_in_force: 'gtc', client_order_id: 'tm-2' },
    });
  });

  it.each<[string, ReplaceTerms, RegExp]>([
    ['an expiry', { expireTime: '2026-12-31T21:00:00Z' }, /expireTime/],
    ['a word of another venue', { timeInForce: 'gtd' }, /time_in_force/],
  ])('with %s is not sent, and says why', (_what, terms, message) => {
    const reason = { code: 'INVALID_REQUEST', message: expect.stringMatching(message) };
    expect(replace(terms)).toMatchObject({ kind: 'not_sent', mayRepeat: false, reason });
  });
});

describe('a cancel', () => {
  const cancel = (orderId: string) => prepareAlpacaWrite({ kind: 'cancel', ...about, orderId }, 'tm-1');

  it('names its order in the path alone', () => {
    expect(cancel('904837e3-3b76-47ec-b432-046db621571b')).toEqual({
      method: 'DELETE',
      path: '/v2/orders/904837e3-3b76-47ec-b432-046db621571b',
    });
  });

  it.each(['', '..', 'a/../b'])('of an order that no path can name is not sent: %j', (orderId) => {
    expect(cancel(orderId)).toMatchObject({ kind: 'not_sent', mayRepeat: false });
  });
});

describe('an answer', () => {
  it.each<[number, string, object]>([
    [403, '{"code":40310000,"message":"insufficient buying power"}', { code: '40310000', status: 403 }],
    [403, '{"message":"forbidden."}', { code: 'HTTP_403', message: 'forbidden.' }],
    [502, '<html>', { code: 'HTTP_502', message: 'the answer has status 502, and no message of Alpaca' }],
  ])('%i %s gives its reason', (status, text, reason) => {
    const observed = { kind: 'answered', status, headers: {}, text } as const;
    const request = { kind: 'place', ...about, terms: limit } as const;
    expect(judgeAlpacaWrite(request, 'tm-1', observed)).toMatchObject({ reason });
  });
});

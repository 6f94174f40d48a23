import { describe, expect, it } from 'vitest';
import {
  parsePlaceAccount,
  parsePlacePrediction,
  parseReason,
  parseResolution,
  placeAccountBody,
  placePredictionBody,
  reasonBody,
  resolutionBody,
} from '../../src/contract/command-bodies.ts';
import { parseReplace, replaceBody } from '../../src/contract/replace-bodies.ts';
import {
  accountOrderSides,
  accountOrderTimesInForce,
  accountOrderTypes,
} from '../../src/venue/platform/wire/account-order.ts';
import { orderRequest, predictionOrderRequest, replaceRequest } from '../../src/venue/platform/wire/order-writes.ts';
import {
  predictionOrderTypes,
  predictionOutcomes,
  predictionSides,
  predictionTimesInForce,
} from '../../src/venue/platform/wire/prediction-order.ts';
import { toJsonSchema } from './to-json-schema.ts';

const account = {
  accountId: 'acct-1',
  symbol: 'AAPL',
  side: 'BUY',
  type: 'LIMIT',
  qty: '10',
  timeInForce: 'DAY',
  price: '191.50',
};
const prediction = {
  accountId: 'acct-1',
  symbol: 'FED-CUT',
  outcome: 'YES',
  side: 'buy',
  orderType: 'limit',
  timeInForce: 'gtc',
  quantity: '10',
  price: '0.40',
};
const replace = { accountId: 'acct-1', quantity: '12' };

/** Drops what is undefined, so that a case can take a field away. */
const body = (base: object, over: object): unknown =>
  Object.fromEntries(Object.entries({ ...base, ...over }).filter(([, value]) => value !== undefined));
const faultPaths = (result: { ok: boolean; faults?: readonly { path: string }[] }) =>
  (result.faults ?? []).map(({ path }) => path);

// biome-ignore format: a table
const badDecimals = [
  '1e999999999', '1e-400', '1e3', 'NaN', 'Infinity', '-Infinity', '0x10', '1_000', ' 1', '1 ', '1\n', '+1', '01', '.5', '1.', '-0', '', '1,5',
  '１', '٣', '1.0000000000001', '1234567890123456789', '0.12345678901234567890', '--1', '1.2.3', 1, Number.POSITIVE_INFINITY, null, true, ['1'], { value: '1' },
];

describe('the body of an equity or option order', () => {
  it('says of a field that is not there that it is required', () => {
    expect(parsePlaceAccount(body(account, { symbol: undefined, side: undefined }))).toMatchObject({
      faults: [
        { path: 'symbol', message: 'is required' },
        { path: 'side', message: 'is required' },
      ],
    });
  });

  it('gives canonical terms, and the reference of the caller beside them', () => {
    expect(parsePlaceAccount({ ...account, clientId: 'mine-1' })).toEqual({
      ok: true,
      stream: 'account',
      accountId: 'acct-1',
      terms: { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', price: '191.5' },
      callerRef: 'mine-1',
    });
  });

  it('goes to the stream that it names, and to no stream of predictions', () => {
    expect(parsePlaceAccount({ ...account, stream: 'alpaca' })).toMatchObject({ ok: true, stream: 'alpaca' });
    expect(faultPaths(parsePlaceAccount({ ...account, stream: 'prediction' }))).toEqual(['stream']);
  });

  it('may call the account tradingAccountId, as examples of the specification do, but not name two', () => {
    const { accountId, ...rest } = account;
    expect(parsePlaceAccount({ ...rest, tradingAccountId: accountId })).toMatchObject({ ok: true, accountId });
    expect(faultPaths(parsePlaceAccount({ ...account, tradingAccountId: 'other' }))).toEqual(['tradingAccountId']);
    expect(faultPaths(parsePlaceAccount(rest))).toEqual(['accountId']);
  });

  it.each([
    ['MARKET', {}, true],
    ['MARKET', { price: '1' }, false],
    ['MARKET', { stopPrice: '1' }, false],
    ['LIMIT', { price: '1' }, true],
    ['LIMIT', {}, false],
    ['LIMIT', { price: '1', stopPrice: '1' }, false],
    ['STOP', { stopPrice: '1' }, true],
    ['STOP', {}, false],
    ['STOP', { price: '1', stopPrice: '1' }, false],
    ['STOP_LIMIT', { price: '1', stopPrice: '1' }, true],
    ['STOP_LIMIT', { price: '1' }, false],
    ['STOP_LIMIT', { stopPrice: '1' }, false],
  ])('of type %s with %j is taken: %s', (type, prices, taken) => {
    expect(parsePlaceAccount(body(account, { price: undefined, type, ...prices })).ok).toBe(taken);
  });

  it.each([
    ['accountId', 50],
    ['symbol', 20],
    ['clientId', 50],
    ['exDestination', 10],
  ])('has at most as many characters of %s as the specification says: %i', (field, longest) => {
    expect(parsePlaceAccount({ ...account, [field]: 'A'.repeat(longest) }).ok).toBe(true);
    expect(faultPaths(parsePlaceAccount({ ...account, [field]: 'A'.repeat(longest + 1) }))).toEqual([field]);
  });

  it.each([
    [{ stream: 'alpaca_paper' }, []],
    [{ stream: 'alpaca', timeInForce: 'GTC' }, []],
    [{ stream: 'alpaca', timeInForce: 'IOC' }, ['belongs to LIMIT orders for DAY or GTC']],
    [{ stream: 'alpaca', type: 'MARKET', price: undefined }, ['belongs to LIMIT orders for DAY or GTC']],
    [{}, ['is not offered on the stream account']],
    [{ stream: 'alpaca', extendedHours: 'yes' }, ['must be true or false']],
  ])('beyond the regular session is taken where the venue has that: %j', (over, messages) => {
    const parsed = parsePlaceAccount(body({ ...account, extendedHours: true }, over));
    expect(parsed.ok ? [] : parsed.faults.map(({ message }) => message)).toEqual(messages);
    if (parsed.ok) expect(parsed.terms).toMatchObject({ extendedHours: true });
  });

  it('within the regular session has one form', () => {
    for (const extendedHours of [false, null])
      expect(parsePlaceAccount({ ...account, extendedHours })).toEqual(parsePlaceAccount(account));
  });

  it('has a currency of exactly three letters, or the one of the platform', () => {
    expect(parsePlaceAccount({ ...account, currency: 'eur' })).toMatchObject({ terms: { currency: 'EUR' } });
    for (const currency of ['usd', '', null])
      expect(parsePlaceAccount({ ...account, currency })).toEqual(parsePlaceAccount(account));
    for (const currency of ['US', 'USDT', ' ', 'U$D'])
      expect(parsePlaceAccount({ ...account, currency }).ok).toBe(false);
  });

  it('has at most four legs, each whole, the first on the side of the order', () => {
    const leg = { symbol: 'AAPL261218C00200000', side: 'BUY', ratioQty: '1.0', positionEffect: 'OPEN' };
    expect(parsePlaceAccount({ ...account, legs: [leg] })).toMatchObject({
      terms: { legs: [{ ...leg, ratioQty: '1' }] },
    });
    expect(parsePlaceAccount({ ...account, legs: Array(4).fill(leg) }).ok).toBe(true);
    expect(faultPaths(parsePlaceAccount({ ...account, legs: Array(5).fill(leg) }))).toEqual(['legs']);
    expect(faultPaths(parsePlaceAccount({ ...account, legs: [{ ...leg, side: 'SELL' }] }))).toEqual(['side']);
    expect(faultPaths(parsePlaceAccount({ ...account, legs: [{ ...leg, ratioQty: '0' }] }))).toEqual([
      'legs[0].ratioQty',
    ]);
    expect(faultPaths(parsePlaceAccount({ ...account, legs: [{ ...leg, venue: 'X' }] }))).toEqual(['legs[0].venue']);
    expect(faultPaths(parsePlaceAccount({ ...account, legs: [leg, null] }))).toEqual(['legs[1]']);
  });

  it('takes an option symbol of 21 characters in a leg, compact or padded, and none of 22', () => {
    const leg = { side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' };
    const taken = (symbol: string) => parsePlaceAccount({ ...account, legs: [{ ...leg, symbol }] });
    const longest = 'GOOGL1261218C00200000';
    expect(taken(longest)).toMatchObject({ terms: { legs: [{ symbol: longest }] } });
    expect(taken('F     261218C00012000')).toMatchObject({ terms: { legs: [{ symbol: 'F261218C00012000' }] } });
    expect(faultPaths(taken(`A${longest}`))).toEqual(['legs[0].symbol']);
    expect(faultPaths(taken('AAPL 2612'))).toEqual(['legs[0].symbol']);
    expect(parsePlaceAccount({ ...account, symbol: 'AAPL  261218C00200000' })).toMatchObject({
      terms: { symbol: 'AAPL261218C00200000' },
    });
    expect(faultPaths(parsePlaceAccount({ ...account, symbol: longest }))).toEqual(['symbol']);
  });

  it('means an equity order with no legs, whether they are empty or left out', () => {
    expect(parsePlaceAccount({ ...account, legs: [] })).toEqual(parsePlaceAccount(account));
  });

  it('may have a net credit as the price of several legs, and of nothing else', () => {
    const leg = { symbol: 'AAPL261218C00200000', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' };
    expect(parsePlaceAccount({ ...account, price: '-0.35', legs: [leg, { ...leg, side: 'SELL' }] }).ok).toBe(true);
    expect(faultPaths(parsePlaceAccount({ ...account, price: '-0.35', legs: [leg] }))).toEqual(['price']);
    expect(faultPaths(parsePlaceAccount({ ...account, price: '0' }))).toEqual(['price']);
  });

  it('takes an empty reference for none', () => {
    expect(parsePlaceAccount({ ...account, clientId: '' })).toEqual(parsePlaceAccount(account));
  });

  it.each(badDecimals)('is refused with %j as a quantity or price', (text) => {
    expect(faultPaths(parsePlaceAccount({ ...account, qty: text }))).toContain('qty');
    expect(faultPaths(parsePlaceAccount({ ...account, price: text }))).toContain('price');
  });

  it.each(['0', '0.000', '-1', '-0.5'])('is refused with a quantity of %s', (qty) => {
    expect(faultPaths(parsePlaceAccount({ ...account, qty }))).toContain('qty');
  });

  it.each([
    ['side in the wrong case', { side: 'sell' }, 'side'],
    ['side with a line break', { side: 'SELL\n' }, 'side'],
    ['time in force that equities do not have', { timeInForce: 'GTD' }, 'timeInForce'],
    ['unknown field', { colour: 'red' }, 'colour'],
    ['homoglyph account', { accountId: 'аcct-1' }, 'accountId'],
    ['injection in the account', { accountId: "'; drop table orders" }, 'accountId'],
    ['homoglyph symbol', { symbol: 'ААРL' }, 'symbol'],
    ['NUL in the reference', { clientId: 'a\u0000b' }, 'clientId'],
    ['lone surrogate in the reference', { clientId: 'a\ud800' }, 'clientId'],
    ['empty account', { accountId: '' }, 'accountId'],
    ['missing symbol', { symbol: undefined }, 'symbol'],
    ['number as an account', { accountId: 7 }, 'accountId'],
    ['command id that is none', { supersedes: 'abc' }, 'supersedes'],
  ])('is refused with a %s', (_what, over, path) => {
    expect(faultPaths(parsePlaceAccount(body(account, over)))).toEqual([path]);
  });

  it.each([[null], [[]], ['text'], [7], [undefined], [true]])('is refused when it is %j', (value) => {
    expect(parsePlaceAccount(value).ok).toBe(false);
  });

  it('is refused with an own __proto__, which zod does not see', () => {
    expect(faultPaths(parsePlaceAccount(JSON.parse('{"__proto__":{"accountId":"acct-1"}}')))).toEqual(['__proto__']);
  });

  it('tells all faults at once, at most twenty, and never repeats a value', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`f${n}`, 'secret']));
    const result = parsePlaceAccount({ ...account, ...many });
    expect(faultPaths(result)).toHaveLength(20);
    expect(JSON.stringify(result)).not.toContain('secret');
    expect(faultPaths(parsePlaceAccount({ ...account, qty: 'x', side: 'x' }))).toEqual(['side', 'qty']);
  });
});

describe('the body of a prediction order', () => {
  it('gives canonical terms, and the reference of the caller beside them', () => {
    const supersedes = '0A000000-0000-4000-8000-000000000001';
    expect(parsePlacePrediction({ ...prediction, clientOrderRef: 'ref:1', supersedes })).toEqual({
      ok: true,
      accountId: 'acct-1',
      terms: {
        symbol: 'FED-CUT',
        outcome: 'YES',
        side: 'buy',
        orderType: 'limit',
        timeInForce: 'gtc',
        quantity: '10',
        price: '0.4',
      },
      callerRef: 'ref:1',
      supersedes: supersedes.toLowerCase(),
    });
  });

  it.each([
    ['market', {}, true],
    ['market', { price: '0.5' }, false],
    ['limit', { price: '0.5' }, true],
    ['limit', {}, false],
    ['limit', { price: '0.5', stopPx: '0.5' }, false],
    ['stop', { stopPx: '0.5' }, true],
    ['stop', {}, false],
    ['stop_limit', { price: '0.5', stopPx: '0.6' }, true],
    ['stop_limit', { price: '0.5' }, false],
  ])('of type %s with %j is taken: %s', (orderType, prices, taken) => {
    expect(parsePlacePrediction(body(prediction, { price: undefined, orderType, ...prices })).ok).toBe(taken);
  });

  it.each(['0', '1', '1.5', '-0.1', '1.000', ...badDecimals])('is refused with %j as a price', (price) => {
    expect(faultPaths(parsePlacePrediction({ ...prediction, price }))).toContain('price');
  });

  it('has an expiry exactly when it is good till a date, and one that the calendar has', () => {
    const gtd = (expireTime: unknown) => parsePlacePrediction(body(prediction, { timeInForce: 'gtd', expireTime })).ok;
    expect(gtd('2026-12-31T23:59:59Z')).toBe(true);
    for (const none of [undefined, '2026-02-30T00:00:00Z', '+275760-09-13T00:00:00Z', '2026-12-31', 'tomorrow', 1])
      expect(gtd(none)).toBe(false);
    expect(parsePlacePrediction({ ...prediction, expireTime: '2026-12-31T23:59:59Z' }).ok).toBe(false);
  });

  it.each(['', 'a b', 'a'.repeat(65), 'é', 'a\n'])('is refused with %j as a reference', (clientOrderRef) => {
    expect(faultPaths(parsePlacePrediction({ ...prediction, clientOrderRef }))).toEqual(['clientOrderRef']);
  });

  it.each([
    ['outcome', 'yes'],
    ['side', 'BUY'],
    ['orderType', 'LIMIT'],
    ['timeInForce', 'GTC'],
    ['clientId', 'x'],
  ])('is refused with %s %j', (field, value) => {
    expect(faultPaths(parsePlacePrediction({ ...prediction, [field]: value }))).toEqual([field]);
  });
});

describe('the body of a replace', () => {
  it('gives canonical terms', () => {
    expect(parseReplace({ ...replace, price: '0.020' })).toEqual({
      ok: true,
      stream: 'prediction',
      accountId: 'acct-1',
      terms: { quantity: '12', price: '0.02' },
    });
  });

  it('names at least one term', () => {
    expect(faultPaths(parseReplace({ accountId: 'acct-1' }))).toEqual(['']);
  });

  it.each(['symbol', 'outcome', 'side', 'orderType', 'clientOrderRef', 'supersedes'])(
    'is refused with %s, which cannot change',
    (field) => {
      expect(faultPaths(parseReplace({ ...replace, [field]: 'x' }))).toEqual([field]);
    },
  );

  it('may give a gtd order a new expiry, and no other one', () => {
    const expireTime = '2026-12-31T23:59:59Z';
    expect(parseReplace({ accountId: 'acct-1', expireTime }).ok).toBe(true);
    expect(parseReplace({ accountId: 'acct-1', expireTime, timeInForce: 'gtd' }).ok).toBe(true);
    expect(faultPaths(parseReplace({ accountId: 'acct-1', expireTime, timeInForce: 'day' }))).toEqual(['expireTime']);
  });

  it.each(['0', '-1', ...badDecimals])('is refused with %j as a total', (quantity) => {
    expect(faultPaths(parseReplace({ ...replace, quantity }))).toContain('quantity');
  });
});

describe('what is taken here', () => {
  it('is what the platform client will send: each enum has the same words', () => {
    const takes = (
      parse: (value: unknown) => { ok: boolean },
      base: object,
      field: string,
      words: readonly string[],
      no: string,
    ) => {
      for (const word of words) expect(faultPaths(parse({ ...base, [field]: word }) as never)).not.toContain(field);
      expect(faultPaths(parse({ ...base, [field]: no }) as never)).toContain(field);
    };
    takes(parsePlaceAccount, account, 'side', accountOrderSides, 'HOLD');
    takes(parsePlaceAccount, account, 'type', accountOrderTypes, 'limit');
    takes(parsePlaceAccount, account, 'timeInForce', accountOrderTimesInForce, 'day');
    takes(parsePlacePrediction, prediction, 'side', predictionSides, 'BUY');
    takes(parsePlacePrediction, prediction, 'outcome', predictionOutcomes, 'MAYBE');
    takes(parsePlacePrediction, prediction, 'orderType', predictionOrderTypes, 'LIMIT');
    takes(parsePlacePrediction, prediction, 'timeInForce', predictionTimesInForce, 'DAY');
    takes(parseReplace, replace, 'timeInForce', predictionTimesInForce, 'DAY');
  });

  it('passes the strict shapes of the platform with our reference in place of the caller’s', () => {
    const leg = { symbol: 'AAPL261218C00200000', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' };
    const everything = {
      ...account,
      type: 'STOP_LIMIT',
      stopPrice: '190',
      currency: 'USD',
      exDestination: 'XNYS',
      legs: [leg],
    };
    const placed = parsePlaceAccount({ ...everything, clientId: 'mine' });
    expect(
      placed.ok && orderRequest.safeParse({ accountId: placed.accountId, clientId: 'tm-1', ...placed.terms }).success,
    ).toBe(true);
    const predicted = parsePlacePrediction({
      ...prediction,
      orderType: 'stop_limit',
      stopPx: '0.3',
      timeInForce: 'gtd',
      expireTime: '2026-12-31T00:00:00Z',
    });
    expect(
      predicted.ok &&
        predictionOrderRequest.safeParse({ accountId: predicted.accountId, clientOrderRef: 'tm-1', ...predicted.terms })
          .success,
    ).toBe(true);
    const replaced = parseReplace({
      ...replace,
      price: '0.5',
      stopPx: '0.5',
      timeInForce: 'gtd',
      expireTime: '2026-12-31T00:00:00Z',
    });
    expect(replaced.ok && replaceRequest.safeParse({ accountId: replaced.accountId, ...replaced.terms }).success).toBe(
      true,
    );
  });

  it('has the fields of the platform shapes, and a few of ours', () => {
    const names = (shape: { shape: object }) => Object.keys(shape.shape).sort();
    expect(names(placeAccountBody)).toEqual(
      [...names(orderRequest), 'extendedHours', 'stream', 'supersedes', 'tradingAccountId'].sort(),
    );
    expect(names(placePredictionBody)).toEqual([...names(predictionOrderRequest), 'supersedes'].sort());
    expect(names(replaceBody)).toEqual([...names(replaceRequest), 'supersedes'].sort());
  });

  it('can be told as JSON Schema', () => {
    for (const shape of [placeAccountBody, placePredictionBody, replaceBody, resolutionBody, reasonBody])
      expect(JSON.stringify(toJsonSchema(shape))).toContain('"additionalProperties":false');
  });
});

describe('the bodies of operators', () => {
  it('say why', () => {
    expect(parseReason({ reason: ' venue down ' })).toEqual({ ok: true, reason: 'venue down' });
    for (const reason of ['', '   ', 'x'.repeat(501), 'a\u0000', 'a\nb', 7, undefined])
      expect(parseReason({ reason }).ok).toBe(false);
    expect(parseReason({ reason: '𝄞'.repeat(500) }).ok).toBe(true);
    expect(faultPaths(parseReason({ reason: 'x', by: 'me' }))).toEqual(['by']);
  });

  it('resolve with one of the results that a person can know', () => {
    for (const result of ['applied', 'rejected', 'not_sent', 'moot'])
      expect(parseResolution({ result, reason: 'seen at the venue' })).toEqual({
        ok: true,
        result,
        reason: 'seen at the venue',
      });
    for (const result of ['unknown', 'refused', 'accepted', 'conflict', 'APPLIED', ''])
      expect(parseResolution({ result, reason: 'x' }).ok).toBe(false);
  });
});

describe('issue: The answer to a wrong body named one fault at a time, so the caller needed many tries.', () => {
  type Parsed =
    | ReturnType<typeof parsePlaceAccount>
    | ReturnType<typeof parsePlacePrediction>
    | ReturnType<typeof parseReplace>;
  const pathsOf = (parsed: Parsed) => (parsed.ok ? [] : parsed.faults.map(({ path }) => path).sort());

  it.each([
    ['equity', parsePlaceAccount, {}, ['accountId', 'qty', 'side', 'symbol', 'timeInForce', 'type']],
    [
      'ticket for a stop limit order that nobody filled in',
      parsePlaceAccount,
      { side: 'BUY', type: 'STOP_LIMIT', timeInForce: 'DAY' },
      ['accountId', 'price', 'qty', 'stopPrice', 'symbol'],
    ],
    [
      'option ticket of another side than its leg',
      parsePlaceAccount,
      {
        side: 'SELL',
        type: 'LIMIT',
        timeInForce: 'DAY',
        legs: [{ symbol: '', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' }],
      },
      ['accountId', 'legs[0].symbol', 'price', 'qty', 'side', 'symbol'],
    ],
    [
      'prediction',
      parsePlacePrediction,
      { outcome: 'YES', side: 'buy', orderType: 'stop_limit', timeInForce: 'gtd' },
      ['accountId', 'expireTime', 'price', 'quantity', 'stopPx', 'symbol'],
    ],
    ['replace', parseReplace, {}, ['', 'accountId']],
  ] as const)('an empty %s gets all its faults in one answer', (_name, parse, body, faults) => {
    expect(pathsOf(parse(body))).toEqual(faults);
  });

  it('a rule between fields says nothing of a value that is no word of its field', () => {
    for (const body of [
      null,
      [],
      'x',
      { type: 7 },
      { type: 'EVIL', price: '1', stopPrice: '1', legs: 'x' },
      { side: 'EVIL', legs: [7, null] },
    ]) {
      const parsed = parsePlaceAccount(body);
      expect(parsed.ok).toBe(false);
      expect(JSON.stringify(parsed)).not.toContain('EVIL');
    }
  });
});

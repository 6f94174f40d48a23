import { describe, expect, it } from 'vitest';
import { PreviewBook } from '../../../src/cli/mcp/preview-book.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { anyPlace, McpRig, scriptedRest } from '../../support/rest/mcp-rig.ts';
import { ScriptedRest } from '../../support/rest/scripted-rest.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const place = anyPlace;
const predicted = { stream: 'prediction', orderId: 'o-1', accountId: 'SIM-1001' };
const atAlpaca = { stream: 'alpaca_paper', orderId: 'a-1', accountId: 'SIM-1001' };

describe('a preview', () => {
  it('shows the exact request, its value, the limits that hold and the exposure, and sends nothing', async () => {
    const { service, rig } = await scriptedRest();
    const { data, text } = await rig.call('preview_place', place);
    expect(data).toMatchObject({
      expiresInSeconds: 120,
      request: {
        method: 'POST',
        path: '/v1/orders',
        body: place,
        headers: { 'idempotency-key': `mcp-${data.previewId}` },
      },
      ...{ principal: 'desk', quantity: '10', value: '1875', notShown: [] },
      account: { followed: true, simulated: true, state: 'live' },
      exposure: { rows: 1, items: [{ symbol: 'AAPL', openQuantity: '7', unresolvedQuantity: '3' }] },
      limits: [{ bounds: { maxQuantity: '500' } }],
    });
    // The row of another principal does not hold here.
    expect(data.limits).toHaveLength(1);
    for (const shown of [
      'buy 10 AAPL limit at 187.5',
      'Value at most: 1875',
      'maxQuantity 500',
      '7 open, 3 unresolved',
      data.previewId,
    ])
      expect(text).toContain(shown);
    expect(service.sent).toEqual([]);
  });

  it('says all that the service would refuse the place for, and what is unknown of its value', async () => {
    const { service, rig } = await scriptedRest();
    const message = 'the limit maxQuantity is 5, and with this command it would be 10';
    service.previewed = {
      quotes: [{ kind: 'equity', symbol: 'AAPL' }],
      refusals: [
        { code: 'PLACING_HALTED', message: 'placing is halted (operator): a drill' },
        { code: 'LIMIT_EXCEEDED', message },
      ],
    };
    const { data, text } = await rig.call('preview_place', place);
    expect(data.refusals).toEqual(service.previewed.refusals);
    expect(text).toContain(`Would be refused now: ${message} (LIMIT_EXCEEDED)`);
    expect(text).toContain('Quote AAPL: none in time');
    expect(service.sent).toEqual([]);
  });

  it('has no text of the token', async () => {
    const { service, rig } = await scriptedRest();
    const { data, text } = await rig.call('preview_place', place);
    expect(service.authorizations).toContain('Bearer secret-token');
    expect(JSON.stringify(data) + text).not.toContain('secret-token');
  });

  it.each([
    ['a number for a quantity', { ...place, qty: 10 }, /qty/],
    ['a blank behind a quantity', { ...place, qty: '10 ' }, /qty/],
    ['a word of another case', { ...place, type: 'limit' }, /type/],
    ['a text for null', { ...place, clientId: 'x', stopPrice: 'null' }, /stopPrice/],
    ['null for a field that it needs', { ...place, qty: null }, /qty/],
    ['null for the price of a limit order', { ...place, price: null }, /price/],
    ['null within a leg', { ...place, legs: [{ symbol: 'AAPL', side: null }] }, /legs/],
    ['a limit order without a price', { ...place, price: undefined }, /price/],
    ['a field that does not exist', { ...place, leverage: '5' }, /leverage/],
  ])('refuses %s, and names the field', async (_what, order, named) => {
    const { service, rig } = await scriptedRest();
    const { isError, text } = await rig.call('preview_place', order);
    expect(isError).toBe(true);
    expect(text).toMatch(named);
    expect(service.sent).toEqual([]);
  });

  it('takes null for a field that is left out', async () => {
    const { service, rig } = await scriptedRest();
    const nulls = { stopPrice: null, legs: null, clientId: null, supersedes: null, tradingAccountId: null };
    const { data, isError } = await rig.call('preview_place', { ...place, ...nulls });
    expect([isError, data.request.body]).toEqual([false, place]);
    expect((await rig.call('list_orders', { accountId: null, limit: null, cursor: null })).isError).toBe(false);
    expect(service.sent).toEqual([]);
  });

  it('names what the token may not read, so that it is not taken for nothing', async () => {
    const service = await ScriptedRest.start();
    service.caller = { ...service.caller, scopes: ['orders:write'] };
    const rig = await McpRig.start({ url: service.url });
    const { data, text } = await rig.call('preview_place', place);
    expect(data.limits).toBeUndefined();
    expect(data.notShown).toHaveLength(5);
    expect(text).toContain('Not shown: limits (the token needs ops:read)');
  });

  it('of a replace is for the revision that it shows; a cancel is for any', async () => {
    const { service, rig } = await scriptedRest();
    const replace = await rig.call('preview_replace', { ...predicted, price: '0.45' });
    const cancel = await rig.call('preview_cancel', { stream: 'prediction', orderId: 'o-1', accountId: 'SIM-1001' });
    await rig.call('commit', { previewId: replace.data.previewId });
    await rig.call('commit', { previewId: cancel.data.previewId });
    expect(service.sent.map(({ method, path, headers }) => [method, path, headers['if-match']])).toEqual([
      ['PATCH', '/v1/predictions/orders/o-1', '"4"'],
      ['DELETE', '/v1/predictions/orders/o-1?accountId=SIM-1001', undefined],
    ]);
    expect(replace.data.order).toMatchObject({ revision: 4, workingPrice: '0.42' });
  });

  it('of a replace shows each change, its value by the service, and whether a new order comes of it', async () => {
    const { service, rig } = await scriptedRest();
    service.previewed.refusals = [{ code: 'PLACING_HALTED', message: 'placing is halted (operator): a drill' }];
    const { data, text } = await rig.call('preview_replace', { ...atAlpaca, quantity: '12', timeInForce: 'day' });
    expect(data).toMatchObject({
      request: { method: 'PATCH', path: '/v1/orders/a-1', headers: { 'if-match': '"7"' } },
      changes: [
        { term: 'timeInForce', from: 'gtc', to: 'day' },
        { term: 'quantity', from: '10', to: '12' },
      ],
      ...{ quantity: '12', value: '2250', refusals: [{ code: 'PLACING_HALTED' }] },
    });
    expect(data.request.body).toEqual({
      ...{ accountId: 'SIM-1001', stream: 'alpaca_paper', qty: '12', timeInForce: 'DAY' },
    });
    for (const line of [
      'replace to 12, day on SIM-1001',
      'Change: quantity 10 -> 12 in all, 4 of them filled',
      'Change: timeInForce gtc -> day',
      'The venue ends this order, and makes a new one with an id of its own.',
      'Value at most: 2250',
      'Would be refused now: placing is halted (operator): a drill (PLACING_HALTED)',
    ])
      expect(text.split('\n').some((each) => each.includes(line))).toBe(true);
    expect(service.sent).toEqual([]);
  });

  it.each(['day', 'DAY'])(
    'of a replace takes a time in force as it is shown and as it is placed: %s',
    async (timeInForce) => {
      const { rig } = await scriptedRest();
      const bodies = [];
      for (const order of [atAlpaca, predicted])
        bodies.push((await rig.call('preview_replace', { ...order, timeInForce })).data.request.body.timeInForce);
      expect(bodies).toEqual(['DAY', 'day']);
    },
  );

  it('of a replace that raises nothing has no value, and says why', async () => {
    const { rig } = await scriptedRest();
    const { data, text } = await rig.call('preview_replace', { ...predicted, quantity: '40', price: '0.41' });
    expect([data.value, data.quantity]).toEqual([null, undefined]);
    expect(text).toContain('No value: the new terms do not raise it');
    expect(text).not.toContain('The venue ends this order');
  });

  it.each([
    ['no new term', { ...predicted }, /^must name at least one term to change \(INVALID_ORDER\)$/],
    ['no new term at Alpaca', { ...atAlpaca }, /^must name at least one term to change \(INVALID_ORDER\)$/],
    ['the order of another account', { ...predicted, accountId: 'SIM-1002', price: '0.45' }, /ORDER_NOT_FOUND/],
    ['an order that is not there', { ...predicted, orderId: 'o-2', price: '0.45' }, /NOT_FOUND/],
    [
      'a stream without replaces',
      { ...atAlpaca, stream: 'account', orderId: 'c-1', price: '187' },
      /^no order of the stream account can be replaced: cancel it, and place another once its cancel is applied \(NOT_REPLACEABLE\)$/,
    ],
    [
      'the price of a share for a prediction order',
      { ...predicted, price: '187' },
      /^price must lie between 0 and 1 \(INVALID_ORDER\)$/,
    ],
    [
      'a stop price out of bounds, by the name that the tool gave it',
      { ...predicted, stopPrice: '2' },
      /^stopPrice must lie between 0 and 1/,
    ],
    [
      'a word of a prediction order at Alpaca',
      { ...atAlpaca, timeInForce: 'gtd', expireTime: '2026-12-31T21:00:00Z' },
      /^timeInForce [^;]*DAY[^;]*; expireTime is not a field/,
    ],
    ['a number for a quantity', { ...atAlpaca, quantity: 12 }, /quantity: must be a decimal string/],
    ['a term that does not exist', { ...atAlpaca, leverage: '5' }, /leverage/],
  ])('of a replace refuses %s, and names what is wrong', async (_what, input, named) => {
    const { service, rig } = await scriptedRest();
    const { isError, text } = await rig.call('preview_replace', input);
    expect(isError).toBe(true);
    expect(text).toMatch(named);
    expect(service.sent).toEqual([]);
  });

  it('of a replace takes null for a term that stays', async () => {
    const { rig } = await scriptedRest();
    const nulls = { quantity: null, stopPrice: null, timeInForce: null, expireTime: null, supersedes: null };
    const { data, isError } = await rig.call('preview_replace', { ...atAlpaca, ...nulls, price: '187' });
    expect([isError, data.request.body]).toEqual([
      false,
      { accountId: 'SIM-1001', stream: 'alpaca_paper', price: '187' },
    ]);
  });

  it('of a prediction order goes to its own route', async () => {
    const { service, rig } = await scriptedRest();
    const terms = { accountId: 'SIM-1001', symbol: 'FED-CUT-DEC26', outcome: 'YES', side: 'buy', orderType: 'limit' };
    const order = { ...terms, timeInForce: 'day', quantity: '50', price: '0.42' };
    const { data } = await rig.call('preview_place_prediction', order);
    expect(data).toMatchObject({ value: '21' });
    await rig.call('commit', { previewId: data.previewId });
    expect(service.sent[0]).toMatchObject({ method: 'POST', path: '/v1/predictions/orders' });
    expect(JSON.parse(service.sent[0]?.body ?? '')).toEqual(order);
  });
});

describe('PreviewBook', () => {
  const request = { method: 'POST', path: '/v1/orders' } as const;

  it('keeps a hundred previews, and has room again when their time is over', async () => {
    const clock = new VirtualClock();
    const book = new PreviewBook({ clock, random: systemRandom });
    for (let count = 0; count < 100; count += 1) book.add(book.nextId(), 'desk', request);
    expect(() => book.add(book.nextId(), 'desk', request)).toThrow(/100 previews/);
    await clock.advance(120_000);
    expect(book.add('one', 'desk', request)).toBe(book.find('one'));
  });
});

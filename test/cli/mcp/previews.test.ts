import { describe, expect, it } from 'vitest';
import { PreviewBook } from '../../../src/cli/mcp/preview-book.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { anyPlace, McpRig, scriptedRest } from '../../support/rest/mcp-rig.ts';
import { ScriptedRest } from '../../support/rest/scripted-rest.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const place = anyPlace;

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
    const replace = await rig.call('preview_replace', {
      orderId: 'o-1',
      terms: { accountId: 'SIM-1001', price: '0.45' },
    });
    const cancel = await rig.call('preview_cancel', { stream: 'prediction', orderId: 'o-1', accountId: 'SIM-1001' });
    await rig.call('commit', { previewId: replace.data.previewId });
    await rig.call('commit', { previewId: cancel.data.previewId });
    expect(service.sent.map(({ method, path, headers }) => [method, path, headers['if-match']])).toEqual([
      ['PATCH', '/v1/predictions/orders/o-1', '"4"'],
      ['DELETE', '/v1/predictions/orders/o-1?accountId=SIM-1001', undefined],
    ]);
    expect(replace.data.order).toMatchObject({ revision: 4, workingPrice: '0.42' });
  });

  it.each([
    ['no new term', { orderId: 'o-1', terms: { accountId: 'SIM-1001' } }, /must name at least one term/],
    [
      'the order of another account',
      { orderId: 'o-1', terms: { accountId: 'SIM-1002', price: '0.45' } },
      /ORDER_NOT_FOUND/,
    ],
  ])('of a replace refuses %s', async (_what, input, named) => {
    const { rig } = await scriptedRest();
    const { isError, text } = await rig.call('preview_replace', input);
    expect(isError).toBe(true);
    expect(text).toMatch(named);
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

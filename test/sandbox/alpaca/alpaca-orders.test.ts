import { describe, expect, it } from 'vitest';
import { alpacaClient, restingOrder } from '../../support/platform/alpaca.ts';
import { control, controlLines } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';
import { AlpacaStreamClient } from './alpaca-stream-client.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

async function working(input: Parameters<typeof alpacaClient>[0] = {}) {
  const client = await alpacaClient(input);
  const stream = await AlpacaStreamClient.listening(client.at);
  const { json: order } = await client.place({ client_order_id: 'first' });
  const becomes = (id: string, status: string) =>
    eventually(async () => expect((await client.order(id)).status).toBe(status));
  const verb = (id: string, body: object) => control(client.at, `/orders/${id}`, body);
  if (input.venue?.answerMs !== 'manual') await becomes(order.id, 'new');
  const replace = (body: object, id: string = order.id) => client.send('PATCH', `/v2/orders/${id}`, body);
  return { ...client, stream, first: order, becomes, verb, replace };
}

describe('a place', () => {
  it('answers with an order that waits, found by its client id, and then works', async () => {
    const { place, get, order } = await alpacaClient();
    const { status, json } = await place({ client_order_id: 'mine' });
    expect([status, json.status, json.client_order_id, json.qty, json.limit_price]).toEqual([
      200,
      'pending_new',
      'mine',
      '10',
      '187.5',
    ]);
    expect([json.id, json.asset_id]).toEqual([expect.stringMatching(uuid), expect.stringMatching(uuid)]);
    expect((await get('/v2/orders:by_client_order_id?client_order_id=mine')).json.id).toBe(json.id);
    await eventually(async () => expect((await order(json.id)).status).toBe('new'));
  });

  it('takes numbers as their text, so that no digit is lost', async () => {
    const { send } = await alpacaClient();
    const body = '{"symbol":"AAPL","qty":123456789012345678,"side":"buy","type":"market","time_in_force":"day"}';
    expect((await send('POST', '/v2/orders', body)).json).toEqual({
      code: 40310000,
      message: 'insufficient buying power',
    });
    const { json } = await send('POST', '/v2/orders', body.replace('123456789012345678', '10.0'));
    expect(json.qty).toBe('10');
  });

  it.each([
    ['a fraction', { qty: '1.25', type: 'market', limit_price: undefined }, { qty: '1.25', notional: null }],
    [
      'an amount',
      { qty: undefined, notional: '50', type: 'market', limit_price: undefined },
      { qty: null, notional: '50' },
    ],
    ['a contract', { symbol: 'AAPL261218C00200000', qty: '1', limit_price: '99' }, { asset_class: 'us_option' }],
    [
      'a short sale',
      { side: 'sell', position_intent: 'sell_to_open' },
      { side: 'sell', position_intent: 'sell_to_open' },
    ],
    ['extended hours', { extended_hours: true }, { extended_hours: true }],
  ])('takes %s', async (_what, asked, shown) => {
    const { place } = await alpacaClient();
    expect(await place(asked)).toMatchObject({ status: 200, json: shown });
  });

  it.each([
    ['several legs', { order_class: 'mleg' }],
    ['an unknown member', { advanced_instructions: { algorithm: 'TWAP' } }],
    ['a trailing stop', { type: 'trailing_stop', trail_percent: '1' }],
    ['an auction', { time_in_force: 'opg' }],
    ['quantity and amount', { notional: '10' }],
    ['neither', { qty: undefined }],
    ['a fraction that stays', { qty: '1.5', time_in_force: 'gtc' }],
    ['a price that is missing', { limit_price: undefined }],
    ['a price too many', { stop_price: '180' }],
    ['a part of a cent', { limit_price: '187.505' }],
    ['an unknown asset', { symbol: 'NONE' }],
    ['a long id', { client_order_id: 'x'.repeat(129) }],
    ['an exponent', { qty: '1e3' }],
  ])('refuses %s, and takes nothing', async (_what, asked) => {
    const { place, at } = await alpacaClient();
    const { status, json } = await place(asked);
    expect([status, json]).toEqual([422, { code: 40010001, message: expect.any(String) }]);
    expect((await controlLines(at, '/ledger?kind=decision')).map(({ decision }) => decision)).toEqual(['refused']);
  });

  it('takes a client_order_id once, also after its order ended', async () => {
    const { place, becomes, first, send } = await working();
    const again = { code: 40010001, message: 'client_order_id must be unique' };
    expect(await place({ client_order_id: 'first' })).toMatchObject({ status: 422, json: again });
    expect((await send('DELETE', `/v2/orders/${first.id}`)).status).toBe(204);
    await becomes(first.id, 'canceled');
    expect(await place({ client_order_id: 'first' })).toMatchObject({ status: 422, json: again });
  });

  it('is refused for money with 403, and by a closed account too', async () => {
    const { place, at, accountNumber } = await alpacaClient({ venue: { orderLimit: '1000' } });
    expect(await place()).toMatchObject({
      status: 403,
      json: { code: 40310000, message: 'insufficient buying power' },
    });
    await control(at, `/accounts/${accountNumber}`, { status: 'RESTRICTED' });
    expect(await place({ qty: '1' })).toMatchObject({ status: 403, json: { code: 40310000 } });
  });
});

describe('a replace', () => {
  it('makes a new order under its own client id, and the old one ends replaced', async () => {
    const { replace, becomes, first, order, stream } = await working();
    const { status, json } = await replace({ qty: '12', client_order_id: 'second' });
    expect([status, json.replaces, json.client_order_id, json.qty]).toEqual([200, first.id, 'second', '12']);
    await becomes(first.id, 'replaced');
    await becomes(json.id, 'new');
    expect(await order(first.id)).toMatchObject({
      replaced_by: json.id,
      replaced_at: expect.any(String),
      canceled_at: null,
    });
    expect(stream.eventsOf(first.id)).toEqual(['pending_new', 'new', 'pending_replace', 'replaced']);
    expect(stream.eventsOf(json.id)).toEqual(['pending_new', 'new']);
  });

  it('is refused while the order waits, has ended, or is for an amount', async () => {
    const { replace, first, becomes, verb, send, place, order } = await working({ venue: { answerMs: 'manual' } });
    const refused = { status: 422, json: { code: 42210000 } };
    expect(await replace({ qty: '12' })).toMatchObject(refused);
    await verb(first.id, { action: 'accept' });
    expect((await replace({ qty: '12' })).status).toBe(200);
    expect(await replace({ qty: '13' })).toMatchObject(refused);
    expect(await send('DELETE', `/v2/orders/${first.id}`)).toMatchObject(refused);
    await verb(first.id, { action: 'accept' });
    await becomes(first.id, 'replaced');
    expect(await replace({ qty: '12' })).toMatchObject(refused);
    const { json } = await place({ qty: undefined, notional: '5', type: 'market', limit_price: undefined });
    await verb(json.id, { action: 'accept' });
    expect((await order(json.id)).status).toBe('new');
    expect(await replace({ qty: '12' }, json.id)).toMatchObject(refused);
  });

  it('leaves the new order what the old one has not filled', async () => {
    const { replace, first, becomes, verb, order } = await working({ venue: { answerMs: 'manual' } });
    await verb(first.id, { action: 'accept' });
    const { json } = await replace({ qty: '12' });
    await verb(first.id, { action: 'fill', quantity: '4', price: '187' });
    await verb(first.id, { action: 'accept' });
    await becomes(first.id, 'replaced');
    expect(await order(json.id)).toMatchObject({ status: 'new', qty: '8', filled_qty: '0' });
  });

  it.each([
    ['filled', { action: 'fill' }, 'fill'],
    ['canceled', { action: 'cancel' }, 'canceled'],
    ['refused by the venue', { action: 'refuse' }, 'order_replace_rejected'],
  ])('is rejected when the old order was %s first', async (_what, end, event) => {
    const { replace, first, becomes, verb, stream, order } = await working({ venue: { answerMs: 'manual' } });
    await verb(first.id, { action: 'accept' });
    const { json } = await replace({ limit_price: '188' });
    await verb(first.id, end);
    await becomes(json.id, 'rejected');
    expect(await order(json.id)).toMatchObject({ failed_at: expect.any(String), filled_qty: '0' });
    await eventually(() => expect(stream.eventsOf(json.id)).toEqual(['pending_new', 'rejected']));
    expect(stream.eventsOf(first.id).at(-1)).toBe(event);
  });
});

describe('a cancel of all', () => {
  it('answers for each open order, and leaves none of them', async () => {
    const { send, get, at, first, becomes } = await working({ market: { knownOrders: 0, openOrders: 0 } });
    const exits = { take_profit: { limit_price: '230' }, stop_loss: { stop_price: '180' } };
    const bracket = await send('POST', '/v2/orders', { ...restingOrder, order_class: 'bracket', ...exits });
    await becomes(bracket.json.id, 'new');
    const { status, json } = await send('DELETE', '/v2/orders');
    const legs = bracket.json.legs.map(({ id }: { id: string }) => id);
    const answered = [first.id, bracket.json.id, ...legs].map((id) => ({ id, status: 200 }));
    expect([status, json.length]).toEqual([207, answered.length]);
    expect(json).toEqual(expect.arrayContaining(answered));
    await eventually(async () => expect((await get('/v2/orders')).json).toEqual([]));
    const decisions = await controlLines(at, '/ledger?kind=decision');
    expect(decisions.filter(({ decision }) => decision !== 'accepted')).toEqual([]);
  });
});

describe('the lists', () => {
  it('go by creation, the newest first, open ones unless asked otherwise, 50 at most', async () => {
    const { get, place, first, send, becomes } = await working();
    const { json: second } = await place();
    await becomes(second.id, 'new');
    await send('PATCH', `/v2/orders/${first.id}`, { qty: '11' });
    await becomes(first.id, 'replaced');
    const ids = async (query: string) => (await get(`/v2/orders?${query}`)).json.map(({ id }: { id: string }) => id);
    const mine = `after=${encodeURIComponent(first.created_at)}`;
    const third = (await get('/v2/orders?limit=1')).json[0];
    expect(third.replaces).toBe(first.id);
    expect(await ids(`status=all&${mine}`)).toEqual([third.id, second.id]);
    expect(await ids(`status=all&direction=asc&after_order_id=${first.id}`)).toEqual([second.id, third.id]);
    expect(await ids(`status=all&before_order_id=${second.id}&limit=1`)).toEqual([first.id]);
    expect(await ids(`status=closed&until=${encodeURIComponent(second.created_at)}&limit=1`)).toEqual([first.id]);
    expect(await ids(`symbols=KO,MSFT&after=${encodeURIComponent(first.created_at)}`)).toEqual([]);
    expect(await ids('status=closed&side=buy&limit=500')).toContain(first.id);
    expect((await get('/v2/orders')).json.length).toBeLessThanOrEqual(50);
  });

  it.each(['limit=501', 'limit=0', 'status=working', 'after=yesterday', 'direction=up', 'page=2', 'limit=1&limit=2'])(
    'refuse %s',
    async (query) => {
      const { get } = await alpacaClient();
      expect(await get(`/v2/orders?${query}`)).toMatchObject({ status: 422, json: { message: expect.any(String) } });
    },
  );
});

describe('what an order says', () => {
  const fields = [
    ...['id', 'client_order_id', 'created_at', 'updated_at', 'submitted_at', 'filled_at', 'expired_at', 'canceled_at'],
    ...['failed_at', 'replaced_at', 'replaced_by', 'replaces', 'asset_id', 'symbol', 'asset_class', 'notional', 'qty'],
    ...['filled_qty', 'filled_avg_price', 'order_class', 'order_type', 'type', 'side', 'position_intent'],
    ...['time_in_force', 'limit_price', 'stop_price', 'status', 'extended_hours', 'legs', 'trail_percent'],
    ...['trail_price', 'hwm', 'subtag', 'source'],
  ];
  const statuses = new Set([
    ...['new', 'partially_filled', 'filled', 'done_for_day', 'canceled', 'expired', 'replaced', 'pending_cancel'],
    ...['pending_replace', 'pending_new', 'rejected', 'suspended'],
  ]);
  const eventNames = new Set([
    ...statuses,
    ...['fill', 'partial_fill', 'order_cancel_rejected', 'order_replace_rejected', 'restated'],
  ]);

  it('has Alpaca’s fields and words in every state that the market brings it to, and on the stream', async () => {
    const { at, sandbox } = await alpacaClient({ market: { knownOrders: 300, openOrders: 100 } });
    const stream = await AlpacaStreamClient.listening(at);
    sandbox.controls.burst(3000);
    await eventually(() => expect(stream.updates.length).toBeGreaterThan(500));
    const orders = (await controlLines(at, '/state')).map(({ order }) => order);
    const seen = [...orders, ...stream.updates.map(({ order }) => order)];
    for (const order of seen) {
      expect(Object.keys(order)).toEqual(fields);
      expect(statuses).toContain(order.status);
      expect(order.updated_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,8}[1-9])?Z$/);
    }
    expect(new Set(seen.map(({ status }) => status))).toEqual(statuses);
    expect([...new Set(stream.updates.map(({ event }) => event))].filter((event) => !eventNames.has(event))).toEqual(
      [],
    );
    expect(stream.textFrames).toBe(0);
    // A chain is named from both ends.
    const byId = new Map(orders.map((order) => [order.id, order]));
    const replaced = orders.filter((order) => order.replaced_by !== null);
    expect(replaced.length).toBeGreaterThan(0);
    for (const order of replaced) expect(byId.get(order.replaced_by)?.replaces ?? order.id).toBe(order.id);
  });

  it('says of a fill how much and at which price, and adds up to what the order has', async () => {
    const { place, becomes, stream } = await working();
    const { json } = await place({ type: 'market', limit_price: undefined, qty: '7' });
    await becomes(json.id, 'filled');
    await eventually(() => expect(stream.eventsOf(json.id)).toEqual(['pending_new', 'new', 'fill']));
    const fill = stream.updates.find(({ event }) => event === 'fill');
    expect(fill).toMatchObject({ qty: '7', price: '221.5', execution_id: expect.stringMatching(uuid) });
    expect(fill.order).toMatchObject({ filled_qty: '7', filled_avg_price: '221.5', filled_at: expect.any(String) });
  });
});

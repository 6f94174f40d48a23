import { describe, expect, it } from 'vitest';
import { alpacaClient } from '../../support/platform/alpaca.ts';
import { control } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

/** AAPL trades at 221.50. */
const exits = { take_profit: { limit_price: '230' }, stop_loss: { stop_price: '210' } };
const bracket = { order_class: 'bracket', ...exits };
const atMarket = { type: 'market', limit_price: undefined };
const oco = { order_class: 'oco', side: 'sell', limit_price: undefined, ...exits };

async function placed(terms: object, input: Parameters<typeof alpacaClient>[0] = {}) {
  const client = await alpacaClient(input);
  const { status, json } = await client.place(terms);
  expect([status, json.order_class]).toEqual([200, (terms as { order_class: string }).order_class]);
  const ids = [json.id, ...json.legs.map(({ id }: { id: string }) => id)];
  const all = () => Promise.all(ids.map((id) => client.order(id)));
  return {
    ...client,
    parent: json,
    ids,
    price: (price: string) => control(client.at, '/prices', { symbol: 'AAPL', price }),
    verb: (id: string, body: object) => control(client.at, `/orders/${id}`, body),
    all,
    become: (...statuses: string[]) =>
      eventually(async () => expect((await all()).map(({ status: word }) => word)).toEqual(statuses)),
  };
}

describe('a bracket', () => {
  it('holds its exits until the entry is filled; the end of one ends the other', async () => {
    const { parent, become, price, all } = await placed({ ...bracket, ...atMarket });
    expect(parent.legs.map(({ status, side, type }: Record<string, string>) => [status, side, type])).toEqual([
      ['held', 'sell', 'limit'],
      ['held', 'sell', 'stop'],
    ]);
    await become('filled', 'new', 'new');
    await price('230.50');
    await become('filled', 'filled', 'canceled');
    expect((await all()).map(({ filled_qty }) => filled_qty)).toEqual(['10', '10', '0']);
  });

  it('exits by its stop too', async () => {
    const { become, price } = await placed({ ...bracket, ...atMarket });
    await become('filled', 'new', 'new');
    await price('209.50');
    await become('filled', 'canceled', 'filled');
  });

  it.each([0, 1])('ends whole when its member %i is canceled before the entry is filled', async (index) => {
    const { become, ids, send, all } = await placed(bracket);
    await become('new', 'held', 'held');
    expect((await send('DELETE', `/v2/orders/${ids[index]}`)).status).toBe(204);
    await become('canceled', 'canceled', 'canceled');
    expect((await all()).map(({ filled_qty }) => filled_qty)).toEqual(['0', '0', '0']);
  });

  it('leaves the second exit what the first has not filled', async () => {
    const { become, ids, verb, all } = await placed({ ...bracket, ...atMarket });
    await become('filled', 'new', 'new');
    await verb(ids[1], { action: 'fill', quantity: '4', price: '230' });
    expect((await all()).map(({ status, qty, filled_qty }) => [status, qty, filled_qty])).toEqual([
      ['filled', '10', '10'],
      ['partially_filled', '10', '4'],
      ['new', '6', '0'],
    ]);
    await verb(ids[2], { action: 'fill', quantity: '6', price: '210' });
    await become('filled', 'canceled', 'filled');
  });

  it('keeps together also where ids have odd characters', async () => {
    const client = await alpacaClient();
    await control(client.at, '/faults', { wire: { ids: true } });
    const { json } = await client.place({ ...bracket, ...atMarket });
    const path = `/v2/orders/${encodeURIComponent(json.id)}?nested=true`;
    expect(json.id).not.toMatch(/^[0-9a-f-]{36}$/);
    await eventually(async () =>
      expect((await client.get(path)).json.legs.map(({ status }: { status: string }) => status)).toEqual([
        'new',
        'new',
      ]),
    );
  });

  it('stands in one row of a nested list, and in three of another', async () => {
    const { become, get, ids } = await placed(bracket);
    await become('new', 'held', 'held');
    const rows = (nested: string) => get(`/v2/orders?status=open&limit=3&nested=${nested}`);
    expect((await rows('false')).json.map(({ id, legs }: Record<string, unknown>) => [id, legs])).toEqual(
      ids.toReversed().map((id) => [id, null]),
    );
    const [first] = (await rows('True')).json;
    expect([first.id, ...first.legs.map(({ id }: { id: string }) => id)]).toEqual(ids);
    expect((await get(`/v2/orders/${ids[0]}?nested=true`)).json.legs).toHaveLength(2);
    expect((await get(`/v2/orders/${ids[0]}`)).json.legs).toBeNull();
  });
});

describe('oto and oco', () => {
  it('send the one exit after the entry', async () => {
    const { become } = await placed({
      order_class: 'oto',
      stop_loss: { stop_price: '210', limit_price: '209' },
      ...atMarket,
    });
    await become('filled', 'new');
  });

  it('work both at once, and the first that fills ends the other', async () => {
    const { become, price, parent } = await placed(oco);
    expect([parent.limit_price, parent.legs[0].type, parent.legs[0].side]).toEqual(['230', 'stop', 'sell']);
    await become('new', 'new');
    await price('209');
    await become('canceled', 'filled');
  });
});

describe('what is refused', () => {
  it.each([
    ['one exit of a bracket', { ...bracket, stop_loss: undefined }],
    ['both exits of an oto', { ...bracket, order_class: 'oto' }],
    ['exits without a class', exits],
    ['exits the wrong way round', { ...bracket, take_profit: { limit_price: '200' } }],
    ['a fraction', { ...bracket, ...atMarket, qty: '1.5' }],
    ['a bracket that must not rest', { ...bracket, time_in_force: 'ioc' }],
    ['an oco at the market', { ...oco, type: 'market' }],
    ['an unknown part', { ...bracket, stop_loss: { stop_price: '210', trail_percent: '1' } }],
  ])('%s: nothing of it is taken', async (_what, terms) => {
    const { place, get } = await alpacaClient({ market: { knownOrders: 0, openOrders: 0 } });
    expect(await place(terms)).toMatchObject({ status: 422, json: { code: 40010001 } });
    expect((await get('/v2/orders?status=all')).json).toEqual([]);
  });

  it('a replace of one that belongs to others', async () => {
    const { become, ids, send } = await placed(bracket);
    await become('new', 'held', 'held');
    for (const id of ids)
      expect(await send('PATCH', `/v2/orders/${id}`, { qty: '5' })).toMatchObject({
        status: 422,
        json: { code: 42210000 },
      });
    await become('new', 'held', 'held');
  });
});

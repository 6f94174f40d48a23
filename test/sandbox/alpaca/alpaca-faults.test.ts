import { describe, expect, it } from 'vitest';
import { requestFaults, writeFaults } from '../../../src/sandbox/faults/fault-shapes.ts';
import { alpacaClient } from '../../support/platform/alpaca.ts';
import { ask, control, controlLines } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';
import { AlpacaStreamClient } from './alpaca-stream-client.ts';

const noAnswer = new Set(['hang', 'reset', 'torn']);
/** A number and a sentence, or nothing, or a proxy's page: never the platform's own form. */
function isAlpacas({ status, text, json }: { status: number; text: string; json: unknown }): boolean {
  if (text === '' || text.startsWith('<')) return true;
  const { code, message, ...rest } = json as Record<string, unknown>;
  return Math.floor(Number(code) / 100_000) === status && String(message).length > 0 && Object.keys(rest).length === 0;
}

describe('keys', () => {
  it('open their own account, and nothing without a pair that fits', async () => {
    const { at, headers, get, accountNumber } = await alpacaClient();
    expect((await get('/v2/account')).json).toMatchObject({ account_number: accountNumber, status: 'ACTIVE' });
    const [mine, other] = at.accounts;
    const wrong = [
      {},
      { ...headers, 'APCA-API-SECRET-KEY': other?.secretKey ?? '' },
      { ...headers, 'APCA-API-KEY-ID': 'PKNONE' },
      { authorization: `Bearer ${mine?.secretKey}` },
    ];
    for (const given of wrong)
      expect(await ask(`${at.url}/v2/account`, { headers: given })).toMatchObject({
        status: 401,
        json: { code: 40110000, message: 'request is not authorized' },
      });
  });

  it('of one account show and move no order of another', async () => {
    const { place, at, order } = await alpacaClient();
    const { json } = await place({ client_order_id: 'mine' });
    const { keyId = '', secretKey = '' } = at.accounts[1] ?? {};
    const headers = { 'APCA-API-KEY-ID': keyId, 'APCA-API-SECRET-KEY': secretKey };
    const missing = { status: 404, json: { code: 40410000 } };
    for (const path of [`/v2/orders/${json.id}`, '/v2/orders:by_client_order_id?client_order_id=mine'])
      expect(await ask(`${at.url}${path}`, { headers })).toMatchObject(missing);
    expect(await ask(`${at.url}/v2/orders/${json.id}`, { method: 'DELETE', headers })).toMatchObject(missing);
    expect((await order(json.id)).client_order_id).toBe('mine');
  });

  it('are needed by the stream before it listens', async () => {
    const { at, place } = await alpacaClient();
    const stream = await AlpacaStreamClient.open(at.stream);
    const listen = { action: 'listen', data: { streams: ['trade_updates'] } };
    const unauthorized = (action: string) => ({ stream: 'authorization', data: { status: 'unauthorized', action } });
    expect(await stream.ask(listen)).toEqual(unauthorized('listen'));
    const { keyId, secretKey } = at.accounts[0] ?? {};
    expect(await stream.ask({ action: 'authenticate', data: { key_id: keyId, secret_key: 'wrong' } })).toEqual(
      unauthorized('authenticate'),
    );
    const auth = { action: 'authenticate', data: { key_id: keyId, secret_key: secretKey } };
    expect((await stream.ask(auth)).data.status).toBe('authorized');
    expect(await stream.ask(listen)).toEqual({ stream: 'listening', data: { streams: ['trade_updates'] } });
    await place();
    await eventually(() => expect(stream.updates.map(({ event }) => event)).toEqual(['pending_new', 'new']));
    expect(JSON.stringify(await controlLines(at, '/ledger'))).not.toContain(secretKey);
  });
});

describe('the budget', () => {
  it('counts the requests of an account, and refuses without Retry-After; a fault gives one', async () => {
    const { get, fault, at } = await alpacaClient({ alpaca: { requestsPerMinute: 3 } });
    const left = async () => (await get('/v2/clock')).headers.get('x-ratelimit-remaining');
    expect([await left(), await left()]).toEqual(['2', '1']);
    await fault({ on: 'request', fault: 'status_429', method: 'GET' });
    expect((await get('/v2/account')).headers.get('retry-after')).toBe('1');
    expect(await left()).toBe('0');
    const refused = await get('/v2/account');
    expect(refused).toMatchObject({ status: 429, json: { code: 42910000, message: 'too many requests.' } });
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(refused.headers.get('x-ratelimit-limit')).toBe('3');
    expect(Number(refused.headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.parse('2026-01-01') / 1000);
    const { keyId = '', secretKey = '' } = at.accounts[1] ?? {};
    const other = { 'APCA-API-KEY-ID': keyId, 'APCA-API-SECRET-KEY': secretKey };
    expect((await ask(`${at.url}/v2/account`, { headers: other })).status).toBe(200);
  });
});

describe('a fault', () => {
  it.each(writeFaults.filter((fault) => !noAnswer.has(fault)))(
    '%s of a write is answered in Alpaca’s form',
    async (fault) => {
      const client = await alpacaClient();
      await client.place();
      await client.fault({ on: 'write', fault });
      const answer = await client.place();
      if (answer.status >= 300) expect([answer, isAlpacas(answer)]).toEqual([answer, true]);
      else
        expect([fault, Object.keys(answer.json)]).toEqual(['wrong_order', expect.arrayContaining(['client_order_id'])]);
    },
  );

  it.each(requestFaults.filter((fault) => !noAnswer.has(fault) && fault !== 'lag'))(
    '%s of a read is answered in Alpaca’s form',
    async (fault) => {
      const client = await alpacaClient();
      await client.fault({ on: 'request', fault });
      const answer = await client.get('/v2/orders');
      expect([answer.status >= 300, isAlpacas(answer)]).toEqual([true, true]);
    },
  );

  it.each([
    ['no', [404], ['not_applied']],
    ['yes', [200], ['accepted']],
    ['late', [404, 200], ['deferred', 'accepted']],
  ])('that loses an answer leaves the order as it says: %s', async (applied, found, decisions) => {
    const client = await alpacaClient();
    await client.fault({ on: 'write', write: 'place', fault: 'outcome_unknown', applied, delayMs: 600_000 });
    expect(await client.place({ client_order_id: 'lost' })).toMatchObject({
      status: 504,
      json: { code: 50410000, message: 'gateway timeout' },
    });
    const look = async () => (await client.get('/v2/orders:by_client_order_id?client_order_id=lost')).status;
    expect(await look()).toBe(found[0]);
    await control(client.at, '/heal');
    expect(await look()).toBe(found.at(-1));
    expect((await controlLines(client.at, '/ledger?kind=decision')).map(({ decision }) => decision)).toEqual(decisions);
  });

  it('lets lists lag, hides an order, or its client id', async () => {
    const client = await alpacaClient();
    await client.fault(
      { on: 'request', fault: 'lag', method: 'GET', times: 3 },
      { on: 'order', fault: 'unreferenced' },
    );
    const { json } = await client.place({ client_order_id: 'dim' });
    for (const path of [`/v2/orders/${json.id}`, '/v2/orders:by_client_order_id?client_order_id=dim'])
      expect((await client.get(path)).status).toBe(404);
    expect(JSON.stringify((await client.get('/v2/orders?limit=500')).json)).not.toContain(json.id);
    expect((await client.order(json.id)).client_order_id).toBe(json.id);
    expect((await client.get('/v2/orders:by_client_order_id?client_order_id=dim')).status).toBe(404);
    await control(client.at, '/heal');
    expect((await client.get('/v2/orders:by_client_order_id?client_order_id=dim')).json.id).toBe(json.id);
  });

  it('loses an event in silence, repeats one, and cuts the stream', async () => {
    const client = await alpacaClient({ venue: { answerMs: 'manual' } });
    const stream = await AlpacaStreamClient.listening(client.at);
    await client.fault({ on: 'event', fault: 'silent_loss' }, { on: 'event', fault: 'duplicate', skip: 1 });
    const { json } = await client.place();
    await control(client.at, `/orders/${json.id}`, { action: 'accept' });
    await control(client.at, `/orders/${json.id}`, { action: 'fill', quantity: '3', price: '187' });
    await eventually(() => expect(stream.eventsOf(json.id)).toEqual(['new', 'partial_fill', 'partial_fill']));
    const [first, second] = stream.updates.slice(-2);
    expect(first).toEqual(second);
    await control(client.at, '/faults', {
      now: [
        { action: 'garbage', kind: 'missing_field' },
        { action: 'garbage', kind: 'bad_utf8' },
      ],
    });
    await eventually(() => expect(stream.updates.some(({ order }) => order.status === undefined)).toBe(true));
    await control(client.at, '/faults', { now: [{ action: 'cut', how: 'rst' }] });
    await eventually(() => expect(stream.closed).toBe(true));
  });
});

describe('odd words', () => {
  it('change the spelling of Alpaca’s decimals and instants, and no value', async () => {
    const client = await alpacaClient({ venue: { answerMs: 'manual' } });
    const { json } = await client.place();
    const before = await client.order(json.id);
    const words = { numbers: 1, extras: 1, coarse: true, renamed: { AAPL: 'AAPLX' } };
    await control(client.at, '/faults', { wire: words });
    const after = await client.order(json.id);
    expect(after).toMatchObject({ symbol: 'AAPLX', updated_at: before.updated_at.replace(/\.\d+/, ''), x_trace: 'a1' });
    const decimals = ['qty', 'filled_qty', 'limit_price'];
    expect(decimals.map((name) => Number(after[name]))).toEqual(decimals.map((name) => Number(before[name])));
    expect(decimals.map((name) => after[name])).not.toEqual(decimals.map((name) => before[name]));
  });
});

describe('the other reads', () => {
  it('have the clock of the exchange, and the assets by symbol and by id', async () => {
    const { get } = await alpacaClient();
    const { json: clock } = await get('/v2/clock');
    const { json: asset } = await get('/v2/assets/AAPL');
    expect(clock.is_open).toBe(Date.parse(clock.next_close) < Date.parse(clock.next_open));
    expect(asset).toMatchObject({ symbol: 'AAPL', class: 'us_equity', exchange: 'NASDAQ', tradable: true });
    expect((await get(`/v2/assets/${asset.id}`)).json).toEqual(asset);
    expect((await get('/v2/assets')).json).toContainEqual(asset);
    for (const path of ['/v2/assets/NONE', '/v2/positions', '/v1/orders'])
      expect(await get(path)).toMatchObject({ status: 404, json: { code: 40410000 } });
  });
});

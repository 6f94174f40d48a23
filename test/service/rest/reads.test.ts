import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeCursor } from '../../../src/service/rest/cursor.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
beforeEach(async () => {
  rig = await startRest();
});
afterEach(() => rig.server.drain(new AbortController().signal));

const get = (path: string, headers: Record<string, string> = {}) => ask(`${rig.address}${path}`, { headers });

describe('GET /v1/orders/{stream}/{orderId}', () => {
  it('is the order as it is stored, to the byte, with its revision as ETag', async () => {
    rig.reads.addUpdate({ revision: 3 });
    const { status, headers, text, body } = await get('/v1/orders/account/ord-1');
    expect([status, headers.get('etag'), headers.get('cache-control')]).toEqual([200, '"3"', 'private, no-cache']);
    expect(body).toMatchObject({
      stream: 'account',
      orderId: 'ord-1',
      accountId: 'ACC-1',
      revision: 3,
      order: { cumQty: '40' },
    });
    expect(text).toContain(rig.reads.orders[0]?.state);
    expect(body).not.toHaveProperty('sourceVersion');
  });

  it('tells the platform’s version as text: an int64 does not survive as a number', async () => {
    rig.reads.addUpdate();
    const [stored] = rig.reads.orders;
    if (stored !== undefined) rig.reads.orders = [{ ...stored, sourceVersion: 9_223_372_036_854_775_807n }];
    expect((await get('/v1/orders/account/ord-1')).body['sourceVersion']).toBe('9223372036854775807');
  });

  it.each(['"3"', 'W/"3"', '"1", "3"', '*'])('is 304 without a body for If-None-Match %s', async (tag) => {
    rig.reads.addUpdate({ revision: 3 });
    const { status, headers, text } = await get('/v1/orders/account/ord-1', { 'if-none-match': tag });
    expect([status, text, headers.get('etag')]).toEqual([304, '', '"3"']);
  });

  it('is sent again when it has changed since', async () => {
    rig.reads.addUpdate({ revision: 4 });
    expect((await get('/v1/orders/account/ord-1', { 'if-none-match': '"3"' })).status).toBe(200);
  });

  it('is found by an id with any character that an id may have', async () => {
    const orderId = 'a/b"c\\d%e?f#g';
    rig.reads.addUpdate({ orderId });
    expect((await get(`/v1/orders/account/${encodeURIComponent(orderId)}`)).body).toMatchObject({
      orderId,
      order: { orderId },
    });
  });

  it('is not found on the other stream', async () => {
    rig.reads.addUpdate();
    expect(await get('/v1/orders/prediction/ord-1')).toMatchObject({ status: 404, body: { code: 'ORDER_NOT_FOUND' } });
  });

  it('answers HEAD without a body', async () => {
    rig.reads.addUpdate();
    const { status, text, headers } = await ask(`${rig.address}/v1/orders/account/ord-1`, { method: 'HEAD' });
    expect([status, text, headers.get('etag')]).toEqual([200, '', '"1"']);
  });
});

describe('GET /v1/orders', () => {
  const ids = Array.from({ length: 7 }, (_, i) => `ord-${i}`);

  it('shows every order once, page by page', async () => {
    for (const orderId of ids) rig.reads.addUpdate({ orderId });
    const seen: string[] = [];
    let query = '?limit=3';
    for (let pages = 0; query !== '' && pages < 9; pages += 1) {
      const { body } = await get(`/v1/orders${query}`);
      seen.push(...(body['items'] as { orderId: string }[]).map(({ orderId }) => orderId));
      query = body['next'] === undefined ? '' : `?limit=3&cursor=${String(body['next'])}`;
    }
    expect(seen).toEqual(ids);
  });

  it('refuses a cursor of another list, of other filters, or with one character changed', async () => {
    for (const orderId of ids) rig.reads.addUpdate({ orderId });
    const next = String((await get('/v1/orders?limit=3&stream=account')).body['next']);
    expect((await get(`/v1/orders?stream=account&cursor=${next}`)).status).toBe(200);
    const changed = `${next.slice(0, -2)}${next.at(-2) === 'A' ? 'B' : 'A'}${next.slice(-1)}`;
    for (const path of [
      `/v1/orders?cursor=${next}`,
      `/v1/orders?stream=prediction&cursor=${next}`,
      `/v1/commands?cursor=${next}`,
      `/v1/orders?stream=account&cursor=${changed}`,
      `/v1/orders?stream=account&cursor=${next}A`,
    ])
      expect(await get(path), path).toMatchObject({ status: 400, body: { code: 'INVALID_CURSOR' } });
  });

  it('is empty rather than missing', async () => {
    expect(await get('/v1/orders')).toMatchObject({ status: 200, text: '{"items":[]}' });
  });
});

describe('GET /v1/orders?sort=-updatedAt', () => {
  it('shows every order once, the one that changed last first, page by page', async () => {
    for (const orderId of ['ord-1', 'ord-2', 'ord-3', 'ord-1']) rig.reads.addUpdate({ orderId });
    const seen: string[] = [];
    let query = '?limit=2&sort=-updatedAt';
    for (let pages = 0; query !== '' && pages < 9; pages += 1) {
      const { body } = await get(`/v1/orders${query}`);
      seen.push(...(body['items'] as { orderId: string }[]).map(({ orderId }) => orderId));
      query = body['next'] === undefined ? '' : `?limit=2&sort=-updatedAt&cursor=${String(body['next'])}`;
    }
    expect(seen).toEqual(['ord-1', 'ord-3', 'ord-2']);
  });

  it('refuses a cursor with an instant that there is not', async () => {
    for (const [instant, status] of [
      ['2026-11-28T09:00:00.000000Z', 200],
      ['2026-13-01T00:00:00.000000Z', 400],
      ['0000-01-01T00:00:00.000000Z', 400],
    ] as const) {
      // Anyone can make one: its check sum keeps no secret.
      const cursor = encodeCursor('orders -updatedAt {}', [instant, 'account', 'ord-1']);
      expect((await get(`/v1/orders?sort=-updatedAt&cursor=${cursor}`)).status, instant).toBe(status);
    }
  });

  it('has cursors of its own', async () => {
    for (const orderId of ['ord-1', 'ord-2']) rig.reads.addUpdate({ orderId });
    const newest = String((await get('/v1/orders?limit=1&sort=-updatedAt')).body['next']);
    const byId = String((await get('/v1/orders?limit=1')).body['next']);
    for (const path of [`/v1/orders?cursor=${newest}`, `/v1/orders?sort=-updatedAt&cursor=${byId}`])
      expect(await get(path), path).toMatchObject({ status: 400, body: { code: 'INVALID_CURSOR' } });
    expect((await get(`/v1/orders?sort=orderId&cursor=${byId}`)).status).toBe(200);
  });
});

describe('the filters of GET /v1/orders', () => {
  it('reach the store, times in UTC with microseconds', async () => {
    const query =
      'side=sell&origin=external&q=caf%C3%A9%201&since=2026-11-21T15:30:01.1234567%2B01:00&until=2026-11-21T15:30:01Z';
    expect((await get(`/v1/orders?${query}`)).status).toBe(200);
    expect(rig.reads.filters.at(-1)).toEqual({
      ...{ side: 'sell', origin: 'external', q: 'café 1' },
      ...{ since: '2026-11-21T14:30:01.123456Z', until: '2026-11-21T15:30:01.000000Z' },
    });
  });

  it('take a symbol in any case, as commands do', async () => {
    expect((await get('/v1/orders?symbol=fed-cut-dec26')).status).toBe(200);
    expect(rig.reads.filters.at(-1)).toEqual({ symbol: 'FED-CUT-DEC26' });
  });

  it.each([
    'sort=updatedAt',
    'side=SELL_SHORT',
    'origin=mine',
    'q=',
    'q=a%00b',
    `q=${'x'.repeat(129)}`,
    'since=yesterday',
    'since=2026-02-30T00:00:00Z',
    'since=1969-12-31T23:59:59Z',
    'until=9999-12-31T23:59:59-01:00',
    'until=0001-01-01T00:00:00%2B23:59',
  ])('refuse %s', async (query) => {
    expect(await get(`/v1/orders?${query}`)).toMatchObject({ status: 400, body: { code: 'INVALID_PARAMETER' } });
  });
});

describe('GET /v1/orders/counts', () => {
  it('counts by status', async () => {
    for (const orderId of ['ord-1', 'ord-2']) rig.reads.addUpdate({ orderId });
    expect((await get('/v1/orders/counts')).body).toEqual({
      items: [{ status: 'partially_filled', orders: 2 }],
      complete: true,
    });
    expect(await get('/v1/orders/counts?accountId=ACC-1')).toMatchObject({ status: 200 });
  });

  it('leaves its name to an order: one with the id "counts" is cancelled', async () => {
    const { status } = await ask(`${rig.address}/v1/orders/counts?accountId=ACC-1`, {
      method: 'DELETE',
      headers: { 'idempotency-key': 'k' },
    });
    expect([status, rig.commands.submissions[0]?.request]).toMatchObject([200, { kind: 'cancel', orderId: 'counts' }]);
    const { status: refused, headers } = await ask(`${rig.address}/v1/orders/counts`, { method: 'PUT' });
    expect([refused, headers.get('allow')]).toEqual([405, 'PATCH, DELETE, GET, HEAD']);
  });
});

describe('GET /v1/orders/{stream}/{orderId}/updates', () => {
  it('is the history by revision, each as it stands on Kafka, page by page', async () => {
    const payloads = [1, 2, 3].map((revision) => rig.reads.addUpdate({ revision }).payload);
    const { text, body } = await get('/v1/orders/account/ord-1/updates?limit=2');
    const stored = '"1970-01-01T00:00:00.000Z"';
    expect(text).toBe(`{"items":[${payloads.slice(0, 2).join(',')}],"recordedAt":[${stored},${stored}],"next":"2"}`);
    const rest = await get(`/v1/orders/account/ord-1/updates?limit=2&after=${String(body['next'])}`);
    expect(rest.text).toBe(`{"items":[${payloads[2]}],"recordedAt":[${stored}]}`);
  });

  it('is not found for an order that is not there', async () => {
    expect(await get('/v1/orders/account/ord-1/updates')).toMatchObject({
      status: 404,
      body: { code: 'ORDER_NOT_FOUND' },
    });
  });
});

describe('the other reads', () => {
  it('show accounts, exposure and halts', async () => {
    rig.reads.accountRows = [{ stream: 'account', accountId: 'ACC-1', isSim: true, openOrders: 2 }];
    const row = { accountId: 'ACC-1', stream: 'account', symbol: 'AAPL', side: 'buy', openOrders: 2 } as const;
    const sums = { openQuantity: '60.5', unresolvedCommands: 1, unresolvedQuantity: '10' };
    rig.reads.exposureRows = [{ ...row, ...sums }];
    expect((await get('/v1/accounts')).body).toEqual({ items: rig.reads.accountRows, statesKnown: false });
    expect((await get('/v1/exposure?accountId=ACC-1')).body).toEqual({ items: [{ ...row, ...sums }] });
    expect((await get('/v1/halts')).body).toEqual({ halts: [] });
  });
});

describe('a read while the database is away', () => {
  it.each([
    '/v1/orders',
    '/v1/orders/counts',
    '/v1/orders/account/o',
    '/v1/orders/account/o/updates',
    '/v1/commands',
    '/v1/accounts',
    '/v1/exposure',
    '/v1/stream',
  ])('%s says so, without saying why, and asks to come back', async (path) => {
    rig.reads.failure = new Error('connect ECONNREFUSED c4n4ry:5432');
    const { status, headers, body, text } = await get(path);
    expect([status, body['code'], body['retryable']]).toEqual([503, 'STORE_UNAVAILABLE', true]);
    expect(headers.get('retry-after')).toBe('1');
    expect(text).not.toContain('c4n4ry');
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { MemoryTokenStore } from '../../../src/runtime/token-store.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { Page } from '../../../src/venue/platform/order-reads.ts';
import { platformReads } from '../../../src/venue/platform/platform-reads.ts';
import { RefreshingTokenSource } from '../../../src/venue/platform/token-source.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { accountRow, predictionRow, rowText } from '../../support/platform/platform-rows.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { json, type Received, scriptedServer } from '../../support/servers/http-server.ts';

type Answer = Parameters<typeof scriptedServer>[0];
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

/**
 * Real time, but waits of the backoff are over at once: what is
 * shown here is what is asked, not when.
 */
const hastyClock: Clock = { ...systemClock, sleep: () => systemClock.turn() };
const signal = new AbortController().signal;

async function reads(answer: Answer) {
  let tokens = 0;
  const server = await scriptedServer((request, response, count) => {
    if (request.path !== '/v1/oauth2/token') return answer(request, response, count);
    tokens += 1;
    json(response, 200, { access_token: `t${tokens}`, token_type: 'bearer', expires_in: 1000 });
  });
  const http = new UndiciHttp({ clock: systemClock });
  const metrics = createMetrics().platform;
  const random = seededRandom(1);
  const tokenSource = new RefreshingTokenSource(
    { http, clock: systemClock, store: new MemoryTokenStore({ clock: systemClock }), random, log: silentLog, metrics },
    {
      name: 'client',
      holder: 'one',
      baseUrl: server.url,
      credential: { clientId: 'id', clientSecret: new Secret('hush') },
      grant: 'client_credentials',
    },
  );
  closers.push(server.close, () => http.close());
  const client = platformReads(
    { http, clock: hastyClock, random, tokens: tokenSource, metrics },
    { platformUrl: server.url, stagingUrl: `${server.url}/staging` },
  );
  const calls = () => server.received.filter(({ path }) => path !== '/v1/oauth2/token');
  return { client, calls };
}

const query = (request: Received) => Object.fromEntries(new URL(request.path, 'http://x').searchParams);
const list = { stream: 'account', accountId: 'acct-1', state: 'all' } as const;

describe('listing orders', () => {
  it('reads every page, in order, and says that it is complete', async () => {
    const { client, calls } = await reads((request, response) => {
      const page = Number(query(request)['cursor'] ?? 0);
      json(response, 200, {
        orders: [{ ...accountRow, ordId: `o${page}` }],
        ...(page < 2 && { nextCursor: String(page + 1) }),
      });
    });
    const pages: Page[] = [];
    const result = await client.listOrders(
      { ...list, updatedAfter: '2026-11-21T00:00:00Z' },
      async (page) => void pages.push(page),
      signal,
    );
    expect(result).toEqual({ complete: true, rows: 3 });
    expect(pages.map(({ rows }) => (rows[0] as { ordId: string }).ordId)).toEqual(['o0', 'o1', 'o2']);
    expect(calls().map(query)).toEqual([
      { accountId: 'acct-1', limit: '500', status: 'all', updatedAfter: '2026-11-21T00:00:00Z' },
      { accountId: 'acct-1', limit: '500', status: 'all', updatedAfter: '2026-11-21T00:00:00Z', cursor: '1' },
      { accountId: 'acct-1', limit: '500', status: 'all', updatedAfter: '2026-11-21T00:00:00Z', cursor: '2' },
    ]);
  });

  it('asks staging for prediction orders, and keeps the digits of their versions', async () => {
    const { client, calls } = await reads((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"success":true,"data":{"orders":[${rowText(predictionRow, 9007199254740993n)}]}}`);
    });
    const rows: unknown[] = [];
    await client.listOrders(
      { ...list, stream: 'prediction', reference: 'ref' },
      async (page) => void rows.push(...page.rows),
      signal,
    );
    expect(rows).toEqual([{ ...predictionRow, version: '9007199254740993' }]);
    expect(calls()[0]?.path).toContain('/staging/v1/predictions/orders?');
    expect(query(calls()[0] as Received)).toEqual({
      accountId: 'acct-1',
      limit: '500',
      state: 'all',
      clientOrderRef: 'ref',
    });
  });

  it.each<[string, Answer]>([
    ['500', (_, response) => json(response, 500, {})],
    ['429', (_, response) => json(response, 429, {})],
    ['HTML with status 200', (_, response) => void response.end('<html>')],
    ['a reset', (_, response) => void response.destroy()],
  ])('repeats a page that failed with %s', async (_, broken) => {
    const { client, calls } = await reads((request, response, count) =>
      count < 4 ? broken(request, response, count) : json(response, 200, { orders: [] }),
    );
    expect(await client.listOrders(list, async () => undefined, signal)).toEqual({ complete: true, rows: 0 });
    expect(calls()).toHaveLength(3);
  });

  it('does not repeat a page before the time that the platform asks for, and hands it over', async () => {
    const { client, calls } = await reads((_, response) => json(response, 429, {}, { 'retry-after': '60' }));
    expect(await client.listOrders(list, async () => undefined, signal)).toMatchObject({
      complete: false,
      error: { status: 429, retryAfterMs: 60_000 },
    });
    expect(calls()).toHaveLength(1);
  });

  it('says that it is incomplete when a later page is refused, or has another shape', async () => {
    const first = { orders: [accountRow], nextCursor: 'a' };
    const refused = await reads((_, response, count) =>
      count === 2 ? json(response, 200, first) : json(response, 403, { error: 'no' }),
    );
    expect(await refused.client.listOrders(list, async () => undefined, signal)).toMatchObject({
      complete: false,
      error: { status: 403 },
    });
    const foreign = await reads((_, response, count) => json(response, 200, count === 2 ? first : { items: [] }));
    expect(await foreign.client.listOrders(list, async () => undefined, signal)).toMatchObject({
      complete: false,
      error: { code: 'BAD_ANSWER' },
    });
  });

  it('does not follow a cursor in a circle', async () => {
    const { client } = await reads((_, response) => json(response, 200, { orders: [], nextCursor: 'same' }));
    expect(await client.listOrders(list, async () => undefined, signal)).toMatchObject({
      complete: false,
      error: { code: 'LOOP' },
    });
  });

  it('renews the token once on 401 and repeats, and gives up on a second 401', async () => {
    const once = await reads((request, response) =>
      request.headers.authorization === 'Bearer t1' ? json(response, 401, {}) : json(response, 200, { orders: [] }),
    );
    expect(await once.client.listOrders(list, async () => undefined, signal)).toEqual({ complete: true, rows: 0 });
    const always = await reads((_, response) => json(response, 401, { error: 'expired' }));
    expect(await always.client.listOrders(list, async () => undefined, signal)).toMatchObject({
      complete: false,
      error: { status: 401 },
    });
    expect(always.calls()).toHaveLength(2);
  });
});

describe('getting one order', () => {
  it('finds it, and says when it is absent or could not be asked for', async () => {
    const { client, calls } = await reads((request, response) => {
      if (request.path.includes('here')) return json(response, 200, accountRow);
      if (request.path.includes('gone')) return json(response, 404, { error: 'not found' });
      json(response, 403, { error: { code: 'FORBIDDEN', message: 'no' } });
    });
    expect(await client.getOrder('account', 'acct-1', 'here', signal)).toMatchObject({
      kind: 'found',
      row: accountRow,
    });
    expect(await client.getOrder('account', 'acct-1', 'gone', signal)).toEqual({ kind: 'absent' });
    expect(await client.getOrder('account', 'acct-1', 'a+b', signal)).toMatchObject({
      kind: 'failed',
      error: { code: 'FORBIDDEN' },
    });
    expect(calls().at(-1)?.path).toBe('/v1/orders/a%2Bb?accountId=acct-1');
    const before = calls().length;
    expect(await client.getOrder('account', 'acct-1', 'a/../b', signal)).toMatchObject({
      kind: 'failed',
      error: { code: 'INVALID_REQUEST', sent: 'no' },
    });
    expect(calls()).toHaveLength(before);
  });
});

describe('listing accounts', () => {
  it('shows every account with its status, of which OPEN alone permits placing', async () => {
    const { client } = await reads((_, response) =>
      json(response, 200, {
        accounts: [
          { trading_account_id: 'a', status: 'OPEN', is_sim: true },
          { trading_account_id: 'b', status: 'CLOSED', is_sim: false, broker_account_id: '' },
          { trading_account_id: 'c', status: null },
          { trading_account_id: 'd', status: ' open ', is_sim: true },
          { trading_account_id: 'shared', status: 'RESTRICTED', is_sim: true },
          { trading_account_id: 'shared', status: 'OPEN', is_sim: false },
          { trading_account_id: '', status: 'OPEN' },
        ],
      }),
    );
    expect(await client.listAccounts(signal)).toEqual({
      complete: true,
      accounts: [
        { accountId: 'a', isOpen: true, isSim: true, status: 'OPEN' },
        { accountId: 'b', isOpen: false, isSim: false, status: 'CLOSED' },
        { accountId: 'c', isOpen: false },
        { accountId: 'd', isOpen: true, isSim: true, status: 'open' },
        { accountId: 'shared', isOpen: false, isSim: false, status: 'RESTRICTED' },
      ],
      unreadable: 1,
    });
  });
});

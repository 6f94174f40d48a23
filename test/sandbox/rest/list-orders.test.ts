import { describe, expect, it } from 'vitest';
import type { RunningSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { parseJson } from '../../../src/venue/parse-json.ts';
import { nestedError, predictionError } from '../../../src/venue/platform/wire/error-bodies.ts';
import { accountOrderPage, predictionOrderPage } from '../../../src/venue/platform/wire/order-pages.ts';
import { ask, control, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';

// The two lists follow the same rules under other names.
const lists = [
  { stream: 'account', base: 'platform', path: '/v1/orders', state: 'status', reference: 'clOrdId', id: 'ordId' },
  {
    stream: 'prediction',
    base: 'staging',
    path: '/v1/predictions/orders',
    state: 'state',
    reference: 'clientOrderRef',
    id: 'orderId',
  },
] as const;
type List = (typeof lists)[number];
const mine = 'SIM-1001';

async function asker(list: List, sandbox: RunningSandbox, scope?: string) {
  const headers = await signedIn(sandbox.description, scope);
  const base = `${sandbox.description[list.base]}${list.path}`;
  return (query: Record<string, string>, id = '') => ask(`${base}${id}?${new URLSearchParams(query)}`, { headers });
}

function pageOf(
  list: List,
  answer: { status: number; text: string },
): { orders: Record<string, unknown>[]; nextCursor?: string } {
  expect(answer.status).toBe(200);
  const body = parseJson(answer.text);
  const page = list.stream === 'account' ? accountOrderPage.parse(body) : predictionOrderPage.parse(body).data;
  return page as { orders: Record<string, unknown>[]; nextCursor?: string };
}

describe.each(lists)('the list of $stream orders', (list) => {
  it('pages through all orders, oldest change first, each once', async () => {
    const sandbox = await runningSandbox({ market: { knownOrders: 200 } });
    const get = await asker(list, sandbox);
    const seen: Record<string, unknown>[] = [];
    for (let cursor: string | undefined = '', first = true; first || cursor !== undefined; first = false) {
      const page = pageOf(list, await get({ accountId: mine, limit: '7', ...(first ? {} : { cursor: cursor ?? '' }) }));
      seen.push(...page.orders);
      expect(page.orders.length).toBeLessThanOrEqual(7);
      cursor = page.nextCursor;
    }
    const truth = [...sandbox.parts.exchange.orders.values()].filter(
      ({ terms }) => terms.stream === list.stream && terms.account.id === mine,
    );
    expect(truth.length).toBeGreaterThan(20);
    expect(seen.map((order) => order[list.id])).toEqual(
      truth.sort((a, b) => a.updatedAt - b.updatedAt).map((order) => order.terms.orderId),
    );
    expect(seen.every((order) => order['accountId'] === mine)).toBe(true);
  });

  it('answers 100 orders when no limit is given, and the last page has no cursor', async () => {
    const sandbox = await runningSandbox({ market: { knownOrders: 1500, openOrders: 0 } });
    const get = await asker(list, sandbox);
    const page = pageOf(list, await get({ accountId: mine }));
    expect(page.orders).toHaveLength(100);
    expect(page.nextCursor).toBeDefined();
    expect(
      pageOf(list, await get({ accountId: mine, limit: '500', cursor: page.nextCursor ?? '' })).orders.length,
    ).toBeGreaterThan(100);
    expect(pageOf(list, await get({ accountId: mine, updatedAfter: '2100-01-01T00:00:00Z' }))).toEqual({ orders: [] });
  });

  it('tells open from closed orders, and done_for_day from both', async () => {
    const sandbox = await runningSandbox({ market: { knownOrders: 0, openOrders: 0 } });
    const get = await asker(list, sandbox);
    const open = await control(sandbox.description, '/orders', { stream: list.stream, accountId: mine });
    const closed = await control(sandbox.description, '/orders', { stream: list.stream, accountId: mine });
    await control(sandbox.description, `/orders/${open.json[list.id]}`, { action: 'done_for_day' });
    await control(sandbox.description, `/orders/${closed.json[list.id]}`, { action: 'cancel' });
    const ids = async (state: string) =>
      pageOf(list, await get({ accountId: mine, [list.state]: state })).orders.map((it) => it[list.id]);
    expect(await ids('open')).toEqual([open.json[list.id]]);
    expect(await ids('closed')).toEqual([closed.json[list.id]]);
    expect(await ids('all')).toEqual([open.json[list.id], closed.json[list.id]]);
  });

  it('shows what changed strictly later than updatedAfter', async () => {
    const sandbox = await runningSandbox({ market: { knownOrders: 50 } });
    const get = await asker(list, sandbox);
    const all = pageOf(list, await get({ accountId: mine })).orders;
    const pivot = String(all[3]?.['updatedAt']);
    const later = pageOf(list, await get({ accountId: mine, updatedAfter: pivot })).orders;
    expect(later.map((it) => it[list.id])).toEqual(all.slice(4).map((it) => it[list.id]));
  });

  it('finds every order of a client reference', async () => {
    const sandbox = await runningSandbox();
    const get = await asker(list, sandbox);
    const made = { stream: list.stream, accountId: mine, [list.reference]: 'twice' };
    const first = await control(sandbox.description, '/orders', made);
    const second = await control(sandbox.description, '/orders', made);
    const page = pageOf(list, await get({ accountId: mine, [list.reference]: 'twice' }));
    expect(page.orders.map((it) => it[list.id])).toEqual([first.json[list.id], second.json[list.id]]);
    expect(page.orders.map((it) => it[list.reference])).toEqual(['twice', 'twice']);
    expect(pageOf(list, await get({ accountId: mine, [list.reference]: 'never' })).orders).toEqual([]);
  });

  it('gets one order by its id, and 404 for one that is not on the account', async () => {
    const sandbox = await runningSandbox();
    const get = await asker(list, sandbox);
    const { json } = await control(sandbox.description, '/orders', { stream: list.stream, accountId: mine });
    const found = await get({ accountId: mine }, `/${json[list.id]}`);
    expect(found.status).toBe(200);
    expect(list.stream === 'account' ? found.json : found.json.data).toEqual(json);
    for (const id of ['8b7a11e3-31f1-42f8-8fa0-06814576edcc', 'not-a-uuid', '%2e%2e%2f']) {
      const missing = await get({ accountId: mine }, `/${id}`);
      expect(missing.status).toBe(404);
      expect(nestedError.parse(missing.json).error.code).toBe('ORDER_NOT_FOUND');
    }
    const elsewhere = list.stream === 'account' ? 'SIM-1002' : 'SIM-1003';
    expect((await get({ accountId: elsewhere }, `/${json[list.id]}`)).status).toBe(404);
  });

  it.each([
    ['no account', {}],
    ['an empty account', { accountId: '' }],
    ['limit 0', { accountId: mine, limit: '0' }],
    ['limit 501', { accountId: mine, limit: '501' }],
    ['limit 1e9', { accountId: mine, limit: '1e9' }],
    ['limit -1', { accountId: mine, limit: '-1' }],
    ['a forged cursor', { accountId: mine, cursor: 'Zm9yZ2Vk' }],
    ['a cursor with more behind it', { accountId: mine, cursor: 'YWZ0ZXI6MTc5NDc0OTQzOTA5NTA3OQ==' }],
    ['30 February', { accountId: mine, updatedAfter: '2026-02-30T00:00:00Z' }],
    ['a date without a time', { accountId: mine, updatedAfter: '2026-02-03' }],
    ['an unknown state', { accountId: mine, [list.state]: 'OPEN' }],
  ])('refuses %s with 400', async (_what, query) => {
    const sandbox = await runningSandbox();
    const answer = await (await asker(list, sandbox))(query as Record<string, string>);
    expect(answer.status).toBe(400);
    (list.stream === 'account' ? nestedError : predictionError).parse(answer.json);
  });

  it("answers 403 for another's account and for one that does not exist, and needs order:information", async () => {
    const sandbox = await runningSandbox();
    const get = await asker(list, sandbox);
    for (const accountId of ['SIM-9001', 'SIM-0000']) {
      const answer = await get({ accountId });
      expect([answer.status, answer.json.error.code]).toEqual([403, 'FORBIDDEN']);
      expect((await get({ accountId }, '/some-id')).status).toBe(403);
    }
    const other = await asker(list, sandbox, 'account:information');
    expect((await other({ accountId: mine })).status).toBe(403);
    const bare = `${sandbox.description[list.base]}${list.path}`;
    for (const url of [`${bare}?accountId=${mine}`, `${bare}/x?accountId=${mine}`, bare])
      expect((await ask(url)).status).toBe(401);
  });
});

describe('prediction orders', () => {
  it('are refused on an account that is not enrolled', async () => {
    const sandbox = await runningSandbox();
    const answer = await (await asker(lists[1], sandbox))({ accountId: 'SIM-1002' });
    expect([answer.status, answer.json.error.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('show versions beyond 2^53 with all their digits', async () => {
    const sandbox = await runningSandbox();
    const version = '9007199254740992';
    await control(sandbox.description, '/orders', {
      stream: 'prediction',
      accountId: mine,
      version,
      clientOrderRef: 'big',
      accepted: false,
    });
    const answer = await (await asker(lists[1], sandbox))({ accountId: mine, clientOrderRef: 'big' });
    expect(answer.text).toContain(`"version":${version},`);
  });
});

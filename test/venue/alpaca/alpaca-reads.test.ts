import { describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { alpacaReads } from '../../../src/venue/alpaca/alpaca-reads.ts';
import { alpacaRow } from '../../../src/venue/alpaca/fixtures/rows.ts';
import { keyPairSource } from '../../../src/venue/alpaca/key-source.ts';
import type { ListRequest } from '../../../src/venue/order-reads.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { alpacaClient } from '../../support/platform/alpaca.ts';
import { control } from '../../support/platform/sandbox.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

/** Waits of the backoff are over at once. */
const hastyClock: Clock = { ...systemClock, sleep: () => systemClock.turn() };
const signal = new AbortController().signal;

function readsOf(url: string, keys: { readonly keyId?: string; readonly secretKey?: string } = {}, isPaper = true) {
  const http = new UndiciHttp({ clock: systemClock });
  onTestFinished(() => http.close());
  const { keyId = 'PK1', secretKey = 'hush' } = keys;
  const tokens = keyPairSource(systemClock, { keyId, secretKey: new Secret(secretKey) });
  const deps = { http, clock: hastyClock, random: seededRandom(1), tokens, metrics: createMetrics().platform };
  const reads = alpacaReads(deps, { url, isPaper });
  const list = async (over: Partial<ListRequest> = {}) => {
    const ids: string[] = [];
    const request = { stream: 'alpaca_paper', accountId: 'acct-1', state: 'all', ...over } as const;
    const result = await reads.listOrders(
      request,
      async ({ rows }) => void ids.push(...rows.map((row) => (row as { id: string }).id)),
      signal,
    );
    return { ids, result };
  };
  const get = (orderId: string) => reads.getOrder('alpaca_paper', 'acct-1', orderId, signal);
  return { reads, list, get };
}

async function emulated(input: Parameters<typeof alpacaClient>[0] = {}) {
  const client = await alpacaClient({ ...input, alpaca: { requestsPerMinute: 10_000 } });
  return { client, ...readsOf(client.at.url, client.at.accounts[0]) };
}

async function scripted(pages: readonly unknown[][]) {
  const asked: string[] = [];
  const server = await scriptedServer((request, response, count) => {
    asked.push(request.path);
    json(response, 200, pages[count - 1] ?? []);
  });
  onTestFinished(() => server.close());
  return { asked, ...readsOf(server.url) };
}

describe('the reads of Alpaca, against its emulator', () => {
  it.each(['open', 'all'] as const)('show each order on some page, however short the pages are: %s', async (state) => {
    const { list } = await emulated({ market: { openOrders: 60, knownOrders: 90 } });
    const whole = await list({ state });
    expect(whole.ids.length).toBeGreaterThan(10);
    expect(whole.result).toEqual({ complete: true, rows: whole.ids.length });
    const short = await list({ state, pageRows: 7 });
    expect([...new Set(short.ids)]).toEqual(whole.ids);
    expect(short.result.complete).toBe(true);
  });

  it('find an order by its id and by our reference, and say that another one is absent', async () => {
    const { client, get, list } = await emulated();
    const { id } = (await client.place({ client_order_id: 'tm-1' })).json;
    expect(await get(id)).toMatchObject({ kind: 'found', row: { id, client_order_id: 'tm-1' } });
    expect(await list({ reference: 'tm-1' })).toEqual({ ids: [id], result: { complete: true, rows: 1 } });
    expect(await list({ reference: 'tm 2' })).toEqual({ ids: [], result: { complete: true, rows: 0 } });
    expect(await get('61e69015-8549-4bfd-b9c3-01e75843f47d')).toEqual({ kind: 'absent' });
    expect(await get('a/../b')).toMatchObject({ kind: 'failed', error: { code: 'INVALID_REQUEST', sent: 'no' } });
  });

  it('have one account, and say whether it may trade', async () => {
    const { client, reads } = await emulated();
    const account = { accountId: client.accountNumber, isOpen: true, isSim: true, status: 'ACTIVE' };
    expect(await reads.listAccounts(signal)).toEqual({ complete: true, accounts: [account] });
    await control(client.at, `/accounts/${client.accountNumber}`, { status: 'RESTRICTED' });
    expect(await reads.listAccounts(signal)).toMatchObject({ accounts: [{ isOpen: false, status: 'ACTIVE' }] });
  });

  it('with other keys are refused, and ask no more for a while', async () => {
    const { client } = await emulated();
    const { keyId = '' } = client.at.accounts[0] ?? {};
    const { reads, list } = readsOf(client.at.url, { keyId, secretKey: 'another' });
    const error = { code: 'LOGIN_REQUIRED', retryable: false };
    expect(await reads.listAccounts(signal)).toMatchObject({ complete: false, error });
    expect((await list()).result).toMatchObject({ complete: false, error: { ...error, sent: 'no' } });
  });
});

async function answering(status: number, body: unknown) {
  const server = await scriptedServer((_request, response) => json(response, status, body));
  onTestFinished(() => server.close());
  return readsOf(server.url);
}

describe('issue: A page of a proxy with status 404 counted as the word of Alpaca that there is no order.', () => {
  it('shows no absence, neither of an order nor of a reference', async () => {
    const { get, list } = await answering(404, { error: 'no healthy upstream' });
    expect(await get('61e69015-8549-4bfd-b9c3-01e75843f47d')).toMatchObject({
      kind: 'failed',
      error: { status: 404, code: 'BAD_ANSWER' },
    });
    expect((await list({ reference: 'tm-1' })).result).toMatchObject({ complete: false });
  });
});

describe('issue: An account at Alpaca was not followed, since a flag of it was null.', () => {
  const account = { account_number: 'PA1', status: 'ACTIVE' };
  it.each<[unknown, boolean, object]>([
    [null, true, {}],
    [false, true, {}],
    [true, false, {}],
    ['true', false, {}],
    [undefined, false, { status: null }],
    [undefined, false, { status: 7 }],
    [undefined, true, { account_number: 1 }],
  ])('is followed where it is %j, and may trade: %j (%j)', async (flag, isOpen, more) => {
    const { reads } = await answering(200, { ...account, trading_blocked: flag, ...more });
    expect(await reads.listAccounts(signal)).toMatchObject({ complete: true, accounts: [{ isOpen }] });
  });
});

describe('a list', () => {
  const at = (submitted_at: unknown, id = String(submitted_at)) => ({ ...alpacaRow, id, submitted_at });

  it('goes on a millisecond before the last row, since orders may share their time', async () => {
    const { list, asked } = await scripted([
      [at('2026-11-20T10:30:00.041999999-04:00'), at('2026-11-20T14:30:00.042Z')],
    ]);
    expect((await list({ pageRows: 2 })).result).toEqual({ complete: true, rows: 2 });
    expect(asked).toEqual([
      '/v2/orders?status=all&direction=asc&limit=2&nested=false',
      '/v2/orders?status=all&direction=asc&limit=2&nested=false&after=2026-11-20T14%3A30%3A00.041Z',
    ]);
  });

  const short = [at('2026-11-20T14:30:00Z')];
  it.each<[string, unknown[][], string]>([
    ['that hands out the same page again', [short, ...Array(3).fill(Array(500).fill(short[0]))], 'LOOP'],
    ['whose last order has no time', [[{ ...at(null), created_at: null }]], 'BAD_ANSWER'],
  ])('%s is not complete', async (_what, pages, code) => {
    const { list } = await scripted(pages);
    expect((await list({ pageRows: 1 })).result).toMatchObject({ complete: false, error: { code } });
  });

  it('that is an object is not complete', async () => {
    const { list } = await scripted([{ orders: [] } as never]);
    expect((await list()).result).toMatchObject({ complete: false, error: { code: 'BAD_ANSWER' } });
  });
});

describe('issue: Audits of an account failed for good: a hundred of its orders shared their time.', () => {
  it('reads them in one page, of the most rows that Alpaca gives', async () => {
    const row = (id: string) => ({ ...alpacaRow, id, submitted_at: '2026-11-20T14:30:00.042Z' });
    const [one, two, three] = ['1', '2', '3'].map(row);
    const { list, asked } = await scripted([
      [one, two],
      [one, two],
      [one, two, three],
    ]);
    const { ids, result } = await list({ pageRows: 2 });
    expect([[...new Set(ids)], result.complete]).toEqual([['1', '2', '3'], true]);
    expect(asked.map((path) => new URLSearchParams(path).get('limit'))).toEqual(['2', '2', '500']);
  });
});

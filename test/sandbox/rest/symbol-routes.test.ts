import { describe, expect, it } from 'vitest';
import type { RunningSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { flatError, nestedError } from '../../../src/venue/platform/wire/error-bodies.ts';
import { chartQuotes, foundSymbols } from '../../../src/venue/platform/wire/market-data.ts';
import { listedOption } from '../../support/platform/listed-option.ts';
import { ask, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

async function asker({ description: it }: RunningSandbox, path: string) {
  const headers = { ...(await signedIn(it)), 'X-API-Key': it.apiKey };
  return (query: Record<string, string>) => ask(`${it.platform}${path}?${new URLSearchParams(query)}`, { headers });
}

describe('GET /v1/marketdata/search', () => {
  const path = '/v1/marketdata/search';

  it('finds stocks and indices by symbol or company name, whatever the case, an exact symbol first', async () => {
    const search = await asker(await runningSandbox(), path);
    const found = async (query: string) => foundSymbols.parse((await search({ query })).json);
    expect(await found('apple')).toEqual([
      { symbol: 'AAPL', description: 'Apple Inc.', tag: 'technology', type: 'stock' },
    ]);
    expect((await found('f'))[0]?.symbol).toBe('F');
    expect(await found('spx')).toMatchObject([{ symbol: 'SPX', type: 'index' }]);
    expect(await found('nobody has this name')).toEqual([]);
  });

  it('searches options when the query begins with a point', async () => {
    const search = await asker(await runningSandbox(), path);
    const found = foundSymbols.parse((await search({ query: '.AAPL', limit: '100' })).json);
    expect(found.length).toBeGreaterThan(10);
    for (const { symbol, type } of found) {
      expect(symbol).toMatch(/^AAPL\d{6}[CP]\d{8}$/);
      expect(type).toBe('option');
    }
    expect(foundSymbols.parse((await search({ query: '.BRKB' })).json)[0]?.symbol).toMatch(/^BRKB\d{6}[CP]/);
    expect((await search({ query: '.AAPL261218C00200000' })).json).toMatchObject([{ symbol: 'AAPL261218C00200000' }]);
    expect(foundSymbols.parse((await search({ query: '.' })).json)).toHaveLength(20);
  });

  it('answers 20 results where no limit is given, and as many as asked up to 100', async () => {
    const search = await asker(await runningSandbox(), path);
    const count = async (query: Record<string, string>) => (await search({ query: '.', ...query })).json.length;
    expect([await count({}), await count({ limit: '1' }), await count({ limit: '100' })]).toEqual([20, 1, 100]);
  });

  it.each([
    ['no query', {}],
    ['an empty query', { query: '' }],
    ['limit 0', { query: 'a', limit: '0' }],
    ['limit 101', { query: 'a', limit: '101' }],
    ['limit 1e1', { query: 'a', limit: '1e1' }],
    ['limit 5.5', { query: 'a', limit: '5.5' }],
    ['an empty limit', { query: 'a', limit: '' }],
  ])('refuses %s with 400', async (_what, query) => {
    const answer = await (await asker(await runningSandbox(), path))(query as Record<string, string>);
    expect([answer.status, nestedError.parse(answer.json).error.code]).toEqual([400, 'INVALID_PARAMETER']);
  });

  it('refuses a parameter that is given twice', async () => {
    const { description: it } = await runningSandbox();
    const headers = { ...(await signedIn(it)), 'x-api-key': it.apiKey };
    expect((await ask(`${it.platform}${path}?query=a&query=b`, { headers })).status).toBe(400);
  });

  it('needs the token and the API key, both', async () => {
    const { description: it } = await runningSandbox();
    const url = `${it.platform}${path}?query=apple`;
    const token = await signedIn(it);
    const status = async (headers: Record<string, string>) => (await ask(url, { headers })).status;
    expect(await status({ ...token })).toBe(401);
    expect(await status({ ...token, 'x-api-key': 'wrong' })).toBe(401);
    expect(await status({ 'x-api-key': it.apiKey })).toBe(401);
    expect(await status({ ...token, 'x-api-key': it.apiKey })).toBe(200);
    expect(await status({ ...(await signedIn(it, 'order:information')), 'x-api-key': it.apiKey })).toBe(403);
  });
});

describe('GET /v1/chart/quotes', () => {
  const path = '/v1/chart/quotes';

  it('shows every field, and follows the walk of the market', async () => {
    const sandbox = await runningSandbox();
    const quotes = await asker(sandbox, path);
    const price = (ticks: number) => String(ticks / 100);
    const before = chartQuotes.parse((await quotes({ symbols: 'AAPL' })).json);
    const first = before.d[0]?.v;
    expect(before.s).toBe('ok');
    expect(before.d[0]).toMatchObject({ n: 'NASDAQ:AAPL', s: 'AAPL' });
    expect(Object.keys(first ?? {}).sort()).toEqual(
      [
        ...['ask', 'bid', 'ch', 'chp', 'description', 'exchange', 'high_price', 'low_price', 'lp'],
        ...['open_price', 'prev_close_price', 'short_name', 'volume'],
      ].sort(),
    );
    const ticks = await walk(sandbox, 'AAPL');
    const after = chartQuotes.parse((await quotes({ symbols: 'AAPL' })).json).d[0]?.v;
    expect(after?.lp).toBe(price(ticks));
    expect(after?.prev_close_price).toBe(first?.prev_close_price);
    expect(Number(after?.ch)).toBeCloseTo(Number(after?.lp) - Number(after?.prev_close_price), 9);
    expect(Number(after?.high_price)).toBeGreaterThanOrEqual(Number(after?.lp));
    expect(Number(after?.low_price)).toBeLessThanOrEqual(Number(after?.lp));
    expect(Number(after?.bid)).toBeLessThan(Number(after?.ask));
  });

  it('prices are JSON numbers', async () => {
    const { json } = await (await asker(await runningSandbox(), path))({ symbols: 'KO' });
    const { description, exchange, short_name, ...numbers } = json.d[0].v;
    expect(Object.values(numbers).filter((value) => typeof value !== 'number')).toEqual([]);
  });

  it('quotes options by the price of their stock', async () => {
    const quotes = await asker(await runningSandbox(), path);
    const [call, put] = await Promise.all(
      [listedOption('C', 100), listedOption('P', 100)].map((symbols) => quotes({ symbols })),
    );
    expect(call?.json.d[0].v.lp).toBeGreaterThan(100);
    expect(put?.json.d[0].v.lp).toBeLessThan(5);
  });

  it('shows every field of an option as well, with a range that holds its price', async () => {
    const sandbox = await runningSandbox();
    const quotes = await asker(sandbox, path);
    const stock = Object.keys((await quotes({ symbols: 'AAPL' })).json.d[0].v);
    await walk(sandbox, 'AAPL');
    for (const symbols of [listedOption('C', 100), listedOption('P', 400)]) {
      const { v } = (await quotes({ symbols })).json.d[0];
      expect(Object.keys(v).sort()).toEqual(stock.sort());
      for (const price of [v.lp, v.open_price]) {
        expect(price).toBeGreaterThanOrEqual(v.low_price);
        expect(price).toBeLessThanOrEqual(v.high_price);
      }
      expect(v.high_price).toBeGreaterThan(v.low_price);
      expect(Number.isInteger(v.volume)).toBe(true);
    }
  });

  it('leaves unknown symbols out, and answers 404 when it knows none', async () => {
    const quotes = await asker(await runningSandbox(), path);
    expect((await quotes({ symbols: 'GONE,KO' })).json.d.map(({ s }: { s: string }) => s)).toEqual(['KO']);
    const none = await quotes({ symbols: 'GONE' });
    expect([none.status, flatError.parse(none.json).codes?.[0]?.code]).toEqual([404, 'NO_DATA']);
  });

  it('refuses a missing or empty symbol, and a token without market:information', async () => {
    const sandbox = await runningSandbox();
    const quotes = await asker(sandbox, path);
    expect([(await quotes({})).status, (await quotes({ symbols: '' })).status]).toEqual([400, 400]);
    const headers = await signedIn(sandbox.description, 'options:information');
    expect((await ask(`${sandbox.description.platform}${path}?symbols=KO`, { headers })).status).toBe(403);
    expect((await ask(`${sandbox.description.platform}${path}?symbols=KO`)).status).toBe(401);
  });
});

/** Moves the market by some steps and answers where the price of `symbol` is then. */
async function walk({ controls, parts }: RunningSandbox, symbol: string): Promise<number> {
  const first = parts.data.prices.live(symbol)?.last;
  controls.burst(2000);
  await eventually(() => {
    expect(controls.status()).toMatchObject({ changes: 2000 });
  });
  const last = parts.data.prices.live(symbol)?.last ?? 0;
  expect(last).not.toBe(first);
  return last;
}

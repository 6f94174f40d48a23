import { describe, expect, it } from 'vitest';
import { dayText, newYorkDay, tradingDayBefore } from '../../../src/sandbox/data/trading-days.ts';
import type { RunningSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { parseJson } from '../../../src/venue/parse-json.ts';
import { flatError, nestedError } from '../../../src/venue/platform/wire/error-bodies.ts';
import { optionsQuotes, previousDay } from '../../../src/venue/platform/wire/market-data.ts';
import { listedOption } from '../../support/platform/listed-option.ts';
import { ask, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';

const ticker = `O:${listedOption('C', 200)}`;

async function asker({ description: it }: RunningSandbox, path: string) {
  const headers = await signedIn(it);
  return (query: Record<string, string>) => ask(`${it.platform}${path}?${new URLSearchParams(query)}`, { headers });
}

async function optionsAsker(sandbox: RunningSandbox) {
  const get = await asker(sandbox, '/v1/options/quotes');
  return async (query: Record<string, string>) => {
    const answer = await get({ ticker, ...query });
    expect(answer.status).toBe(200);
    const page = optionsQuotes.parse(parseJson(answer.text));
    return { ...page, times: page.results.map(({ sipTimestamp }) => BigInt(String(sipTimestamp))) };
  };
}

/** The last two trading days that are over, as dates. */
function pastDays({ parts }: RunningSandbox): [string, string] {
  const last = tradingDayBefore(parts.data.prices.today);
  return [dayText(tradingDayBefore(last)), dayText(last)];
}

describe('GET /v1/options/quotes', () => {
  it('shows every field, with nanosecond timestamps as JSON integers beyond 2^53 whose digits all count', async () => {
    const sandbox = await runningSandbox();
    const { text, json } = await (await asker(sandbox, '/v1/options/quotes'))({ ticker, limit: '5' });
    expect([json.status, typeof json.requestId]).toEqual(['OK', 'string']);
    const fields = [
      'askExchange',
      'askPrice',
      'askSize',
      'bidExchange',
      'bidPrice',
      'bidSize',
      'sequenceNumber',
      'sipTimestamp',
    ];
    expect(Object.keys(json.results[0])).toEqual(fields);
    const digits = [...text.matchAll(/"sipTimestamp":(\d+)/g)].map((match) => match[1] ?? '');
    expect(digits).toHaveLength(5);
    expect(digits.every((it) => it.length === 19 && BigInt(it) > 2n ** 53n)).toBe(true);
    // At least one of them is no double.
    expect(digits.some((it) => BigInt(Number(it)) !== BigInt(it))).toBe(true);
  });

  it('pages through everything once, in either order, and the last page has no nextUrl', async () => {
    const sandbox = await runningSandbox();
    const headers = await signedIn(sandbox.description);
    const [, day] = pastDays(sandbox);
    const get = await optionsAsker(sandbox);
    const whole = (await get({ timestamp: day, order: 'asc', limit: '50000' })).times;
    expect(whole).toHaveLength(1170);
    for (const order of ['asc', 'desc']) {
      const seen: bigint[] = [];
      let url: string | undefined =
        `${sandbox.description.platform}/v1/options/quotes?${new URLSearchParams({ ticker, timestamp: day, order, limit: '400' })}`;
      for (let pages = 0; url !== undefined; pages += 1) {
        expect(pages).toBeLessThan(3);
        const page = optionsQuotes.parse(parseJson((await ask(url, { headers })).text));
        seen.push(...page.results.map(({ sipTimestamp }) => BigInt(String(sipTimestamp))));
        url = page.nextUrl;
      }
      expect(seen).toEqual(order === 'asc' ? whole : [...whole].reverse());
    }
  });

  it('filters by instants: each bound by itself, all together, and one exact nanosecond', async () => {
    const get = await optionsAsker(await runningSandbox());
    const newest = (await get({ limit: '20' })).times;
    const at = (index: number) => String(newest[index]);
    const times = async (query: Record<string, string>) => (await get({ ...query, limit: '20' })).times;
    expect(await times({ timestamp: at(7) })).toEqual([newest[7]]);
    expect(await times({ 'timestamp.gte': at(3) })).toEqual(newest.slice(0, 4));
    expect(await times({ 'timestamp.gt': at(3) })).toEqual(newest.slice(0, 3));
    expect((await times({ 'timestamp.lte': at(3) }))[0]).toBe(newest[3]);
    expect((await times({ 'timestamp.lt': at(3) }))[0]).toBe(newest[4]);
    expect(await times({ 'timestamp.gte': at(9), 'timestamp.lt': at(5) })).toEqual(newest.slice(6, 10));
    expect(await times({ 'timestamp.gt': at(5), 'timestamp.lt': at(9) })).toEqual([]);
  });

  it('reads a date as the whole New York day', async () => {
    const sandbox = await runningSandbox();
    const get = await optionsAsker(sandbox);
    const [before, day] = pastDays(sandbox);
    const dates = async (query: Record<string, string>) => {
      const { times } = await get({ limit: '50000', ...query });
      return [...new Set(times.map((at) => dayText(newYorkDay(Number(at / 1_000_000n)))))].sort();
    };
    expect(await dates({ timestamp: day })).toEqual([day]);
    expect(await dates({ 'timestamp.gte': before, 'timestamp.lte': day })).toEqual([before, day]);
    expect(await dates({ 'timestamp.gt': before, 'timestamp.lte': day })).toEqual([day]);
    expect(await dates({ 'timestamp.gte': before, 'timestamp.lt': day })).toEqual([before]);
  });

  it('puts the newest first unless asked, sorts by timestamp, and answers 1000 without a limit', async () => {
    const get = await optionsAsker(await runningSandbox());
    const plain = await get({});
    expect(plain.times).toHaveLength(1000);
    expect(plain.times).toEqual([...plain.times].sort((a, b) => (a < b ? 1 : -1)));
    expect((await get({ sort: 'timestamp', order: 'desc' })).times).toEqual(plain.times);
    expect((await get({ limit: '50000' })).times).toHaveLength(50_000);
    expect((await get({ limit: '1' })).times).toEqual(plain.times.slice(0, 1));
  });

  it('knows the past of a contract: no quote from the future, bids below asks, the same at every look', async () => {
    const sandbox = await runningSandbox();
    const get = await optionsAsker(sandbox);
    const { results, times } = await get({ order: 'asc', limit: '3000' });
    expect(times.every((at) => at <= BigInt(Date.now()) * 1_000_000n)).toBe(true);
    expect(results.every(({ bidPrice, askPrice }) => Number(bidPrice) < Number(askPrice))).toBe(true);
    const sequence = results.map(({ sequenceNumber }) => Number(sequenceNumber));
    expect(sequence).toEqual([...sequence].sort((a, b) => a - b));
    expect((await get({ order: 'asc', limit: '3000' })).results).toEqual(results);
  });

  it.each([
    ['limit 0', { limit: '0' }],
    ['limit 50001', { limit: '50001' }],
    ['limit 1e3', { limit: '1e3' }],
    ['an unknown order', { order: 'ASC' }],
    ['an unknown sort field', { sort: 'price;select' }],
    ['30 February', { timestamp: '2026-02-30' }],
    ['a negative instant', { 'timestamp.gte': '-1' }],
    ['an instant with a fraction', { 'timestamp.lt': '1.5' }],
    ['a forged cursor', { next: 'Zm9yZ2Vk' }],
    [
      'a cursor of another contract',
      { next: Buffer.from('desc:1794000000000000000:O:KO261218C00064000').toString('base64url') },
    ],
    ['an empty ticker', { ticker: '' }],
  ])('refuses %s with 400', async (_what, query) => {
    const get = await asker(await runningSandbox(), '/v1/options/quotes');
    const answer = await get({ ticker, ...query });
    expect([answer.status, nestedError.parse(answer.json).error.code]).toEqual([400, 'INVALID_PARAMETER']);
  });

  it.each(['O:AAPL261219C00200000', 'O:GONE261218C00200000', 'O:AAPL261218C00200500', 'AAPL261218C00200000', 'AAPL'])(
    'answers 404 for %s, which is no contract',
    async (unknown) => {
      const get = await asker(await runningSandbox(), '/v1/options/quotes');
      const answer = await get({ ticker: unknown });
      expect([answer.status, nestedError.parse(answer.json).error.code]).toEqual([404, 'NO_DATA']);
    },
  );

  it('needs a token with the scope options:information', async () => {
    const { description: it } = await runningSandbox();
    const url = `${it.platform}/v1/options/quotes?ticker=${ticker}`;
    expect((await ask(url)).status).toBe(401);
    expect((await ask(url, { headers: await signedIn(it, 'market:information') })).status).toBe(403);
  });
});

describe('GET /v1/stocks/prev', () => {
  const path = '/v1/stocks/prev';

  it('shows every field of the last session that is over, which closed where the walk began', async () => {
    const sandbox = await runningSandbox();
    const { json } = await (await asker(sandbox, path))({ ticker: 'AAPL' });
    const head = { adjusted: true, queryCount: 1, resultsCount: 1, status: 'OK', ticker: 'AAPL' };
    expect(json).toMatchObject({ ...head, results: [{ T: 'AAPL', c: 221.5 }] });
    expect(typeof json.requestId).toBe('string');
    const [bar] = previousDay.parse(json).results;
    expect(Object.keys(json.results[0]).sort()).toEqual([...'Tochlvnt', 'vw'].sort());
    expect(dayText(newYorkDay(Number(bar?.t)))).toBe(pastDays(sandbox)[1]);
    expect(Number(bar?.l)).toBeLessThanOrEqual(Math.min(Number(bar?.o), Number(bar?.c), Number(bar?.vw)));
    expect(Number(bar?.h)).toBeGreaterThanOrEqual(Math.max(Number(bar?.o), Number(bar?.c), Number(bar?.vw)));
  });

  it('adjusts for a split unless asked not to', async () => {
    const get = await asker(await runningSandbox(), path);
    const close = async (query: object) => (await get({ ticker: 'KO', ...query })).json.results[0].c;
    const [usual, adjusted, raw] = [
      await close({}),
      await close({ adjusted: 'true' }),
      await close({ adjusted: 'false' }),
    ];
    expect([usual, raw]).toEqual([adjusted, adjusted * 2]);
  });

  it('answers 404 for an unknown ticker, and 400 without one or with another word for adjusted', async () => {
    const get = await asker(await runningSandbox(), path);
    const unknown = await get({ ticker: 'GONE' });
    expect([unknown.status, flatError.parse(unknown.json).metadata]).toEqual([404, { ticker: 'GONE' }]);
    for (const query of [{}, { ticker: '' }, { ticker: 'KO', adjusted: 'yes' }, { ticker: 'KO', adjusted: '' }])
      expect((await get(query as Record<string, string>)).status).toBe(400);
  });

  it('needs a token with the scope market:information', async () => {
    const { description: it } = await runningSandbox();
    expect((await ask(`${it.platform}${path}?ticker=KO`)).status).toBe(401);
    const headers = await signedIn(it, 'options:information');
    expect((await ask(`${it.platform}${path}?ticker=KO`, { headers })).status).toBe(403);
  });
});

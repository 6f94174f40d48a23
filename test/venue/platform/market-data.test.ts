import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/runtime/secret.ts';
import type { SandboxInput } from '../../../src/sandbox/sandbox-options.ts';
import {
  readChartQuotes,
  readFdaCalendar,
  readInvestmentTheme,
  readOptionsQuotes,
  readOwnership,
  readPreviousDay,
  searchSymbols,
} from '../../../src/venue/platform/market-data.ts';
import { readHealth } from '../../../src/venue/platform/user-data.ts';
import type { OptionsQuote } from '../../../src/venue/platform/wire/market-data.ts';
import { themes } from '../../../src/venue/platform/wire/research.ts';
import { listedOption } from '../../support/platform/listed-option.ts';
import { platformDeps } from '../../support/platform/platform-deps.ts';
import { runningSandbox } from '../../support/platform/sandbox.ts';
import { allOf } from '../all-of.ts';

const signal = new AbortController().signal;
const ticker = `O:${listedOption('C', 200)}`;

async function client(input: SandboxInput = {}) {
  const { description } = await runningSandbox(input);
  return { deps: platformDeps(description.platform, description), base: description.platform, description };
}

describe('market data through the client', () => {
  it('finds symbols with an API key, and says INVALID_API_KEY without a right one', async () => {
    const { deps, base, description } = await client();
    const search = (key: string, query: string) =>
      searchSymbols(deps, base, new Secret(key), { query, limit: 2 }, signal);
    expect(await search(description.apiKey, 'berkshire')).toEqual({
      ok: true,
      value: [{ symbol: 'BRK.B', description: 'Berkshire Hathaway Inc. Class B', tag: 'financials', type: 'stock' }],
    });
    const options = await search(description.apiKey, '.KO');
    expect(options.ok && options.value.map(({ type }) => type)).toEqual(['option', 'option']);
    expect(await search('wrong', 'apple')).toMatchObject({
      ok: false,
      error: { status: 401, code: 'INVALID_API_KEY' },
    });
  });

  it('reads chart quotes with prices as decimal text', async () => {
    const { deps, base } = await client();
    const quotes = await readChartQuotes(deps, base, ['KO', 'F'], signal);
    expect(quotes).toMatchObject({
      ok: true,
      value: [{ s: 'KO' }, { s: 'F', v: { lp: '11.08', ask: '11.09', bid: '11.07' } }],
    });
    expect(await readChartQuotes(deps, base, ['GONE'], signal)).toMatchObject({
      ok: false,
      error: { status: 404, code: 'NO_DATA' },
    });
  });

  it('reads options quotes over all pages, each once, with every digit of their timestamps', async () => {
    const { deps, base } = await client();
    const quotes: OptionsQuote[] = [];
    let pages = 0;
    for await (const page of readOptionsQuotes(deps, base, { ticker, limit: 25_000, order: 'asc' }, signal)) {
      if (!page.ok) throw new Error(page.error.message);
      quotes.push(...page.quotes);
      pages += 1;
    }
    expect(pages).toBe(3);
    const times = quotes.map(({ sipTimestamp }) => BigInt(String(sipTimestamp)));
    expect(times.every((at, index) => index === 0 || at > (times[index - 1] ?? 0n))).toBe(true);
    expect(times.some((at) => BigInt(Number(at)) !== at)).toBe(true);
    expect(quotes[0]?.bidPrice).toMatch(/^\d+(\.\d{1,2})?$/);
  });

  it('asks for no further page when the caller has seen enough, and filters by what it was told', async () => {
    const { deps, base } = await client();
    const first = await readOptionsQuotes(deps, base, { ticker, limit: 3 }, signal).next();
    const newest = first.value?.ok === true ? first.value.quotes : [];
    expect(newest).toHaveLength(3);
    const bounds = { 'timestamp.gte': newest[2]?.sipTimestamp, 'timestamp.lt': newest[0]?.sipTimestamp };
    const between = await readOptionsQuotes(
      deps,
      base,
      { ticker, order: 'asc', sort: 'timestamp', ...bounds },
      signal,
    ).next();
    expect(between.value).toEqual({ ok: true, quotes: [newest[2], newest[1]] });
  });

  it('ends options quotes with the reason when a page is refused', async () => {
    const { deps, base } = await client();
    const pages = await allOf(readOptionsQuotes(deps, base, { ticker: 'O:NONE' }, signal));
    expect(pages).toMatchObject([{ ok: false, error: { status: 404, code: 'NO_DATA', retryable: false } }]);
  });

  it('reads the bar of the previous day, adjusted or as it was traded', async () => {
    const { deps, base } = await client();
    const read = (adjusted: boolean) => readPreviousDay(deps, base, { ticker: 'KO', adjusted }, signal);
    expect(await read(true)).toMatchObject({ ok: true, value: { adjusted: true, results: [{ T: 'KO', c: '64.02' }] } });
    expect(await read(false)).toMatchObject({
      ok: true,
      value: { adjusted: false, results: [{ T: 'KO', c: '128.04' }] },
    });
    expect(await readPreviousDay(deps, base, { ticker: 'GONE' }, signal)).toMatchObject({
      ok: false,
      error: { status: 404 },
    });
  });

  it('reads owners, with shares as digits', async () => {
    const { deps, base } = await client();
    const owners = await readOwnership(deps, base, { symbol: 'NVDA', limit: 2 }, signal);
    if (!owners.ok) throw new Error(owners.error.message);
    expect(owners.value).toHaveLength(2);
    expect(owners.value[0]?.share).toMatch(/^\d{9,}$/);
    expect(await readOwnership(deps, base, { symbol: 'GONE' }, signal)).toEqual({ ok: true, value: [] });
  });

  it('reads every investment theme, and says 404 where the platform has no data', async () => {
    const { deps, base } = await client({ research: { emptyThemes: ['hr'] } });
    const statuses = await Promise.all(
      themes.map(async (theme) => {
        const answer = await readInvestmentTheme(deps, base, theme, signal);
        return answer.ok ? answer.value.length > 0 : [theme, answer.error.status, answer.error.code];
      }),
    );
    expect(statuses.filter((it) => it !== true)).toEqual([['hr', 404, 'NO_DATA']]);
  });

  it('reads the FDA calendar, and an error without a body', async () => {
    const { deps, base } = await client();
    const events = await readFdaCalendar(deps, base, signal);
    expect(events.ok && events.value.length).toBe(12);
    const empty = await client({ research: { fdaEvents: 0 } });
    expect(await readFdaCalendar(empty.deps, empty.base, signal)).toEqual({
      ok: false,
      error: { status: 404, message: 'the platform answered with status 404', retryable: false, sent: 'yes' },
    });
  });

  it('reads the health without a token', async () => {
    const { base } = await client();
    const deps = platformDeps(base, { clientId: 'nobody', clientSecret: 'nothing' });
    expect(await readHealth(deps, base, signal)).toEqual({ ok: true, value: 'ok' });
  });
});

import { describe, expect, it } from 'vitest';
import type { SandboxInput } from '../../../src/sandbox/sandbox-options.ts';
import { flatError, nestedError } from '../../../src/venue/platform/wire/error-bodies.ts';
import { fdaCalendar, investmentTheme, ownership, themes } from '../../../src/venue/platform/wire/research.ts';
import { ask, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';

async function asker(path: string, input: SandboxInput = {}, scope?: string) {
  const { description: it } = await runningSandbox(input);
  const headers = await signedIn(it, scope);
  return (query: Record<string, string> = {}) =>
    ask(`${it.platform}${path}?${new URLSearchParams(query)}`, { headers });
}

describe('GET /v1/ownership/data', () => {
  const path = '/v1/ownership/data';

  it('lists the holders of one company, the largest first, with every field', async () => {
    const { status, json } = await (await asker(path))({ symbol: 'NVDA' });
    expect(status).toBe(200);
    const { data } = ownership.parse(json);
    const fields = ['change', 'filingDate', 'name', 'percentOfShares', 'share', 'source'];
    for (const item of json.data) {
      expect(Object.keys(item).sort()).toEqual(fields);
      expect(Number.isInteger(item.share) && Number.isInteger(item.change)).toBe(true);
      expect(item.filingDate).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    }
    const shares = data.map(({ share }) => Number(share));
    expect(shares).toEqual([...shares].sort((a, b) => b - a));
    expect(data.reduce((sum, { percentOfShares }) => sum + Number(percentOfShares), 0)).toBeLessThan(100);
    expect(data.some(({ source }) => source === '')).toBe(true);
  });

  it('gives at most as many as asked, and the same for the same seed', async () => {
    const get = await asker(path);
    const all = (await get({ symbol: 'KO' })).json.data;
    expect((await get({ symbol: 'KO', limit: '3' })).json.data).toEqual(all.slice(0, 3));
    const other = await asker(path, { market: { seed: 99 } });
    expect((await other({ symbol: 'KO' })).json.data).not.toEqual(all);
  });

  it('has nobody for an unknown symbol, and refuses to list without one', async () => {
    const get = await asker(path);
    expect((await get({ symbol: 'GONE' })).json).toEqual({ data: [] });
    for (const query of [{}, { symbol: '' }, { symbol: 'KO', limit: '0' }, { symbol: 'KO', limit: 'all' }]) {
      const answer = await get(query as Record<string, string>);
      expect([answer.status, flatError.parse(answer.json).codes?.[0]?.code]).toEqual([400, 'INVALID_PARAMETER']);
    }
  });

  it('needs the scope market:supplemental', async () => {
    expect((await (await asker(path, {}, 'market:information'))({ symbol: 'KO' })).status).toBe(403);
  });
});

describe('GET /v1/stock/investment-theme', () => {
  const path = '/v1/stock/investment-theme';

  it('has stocks in every theme of the specification', async () => {
    const get = await asker(path);
    for (const theme of themes) {
      const { status, json } = await get({ theme });
      expect(status).toBe(200);
      expect(investmentTheme.parse(json).theme).toBe(theme);
      expect(json.data.length).toBeGreaterThan(0);
    }
  });

  it('refuses a missing or unknown theme with 400', async () => {
    const get = await asker(path);
    for (const query of [{}, { theme: '' }, { theme: 'AI' }, { theme: 'ai ' }, { theme: 'moon' }]) {
      const answer = await get(query as Record<string, string>);
      expect([answer.status, nestedError.parse(answer.json).error]).toMatchObject([
        400,
        { code: 'INVALID_PARAMETER', meta: { parameter: 'theme' } },
      ]);
    }
  });

  it('answers 404 for a theme without a stock', async () => {
    const answer = await (await asker(path, { research: { emptyThemes: ['drones'] } }))({ theme: 'drones' });
    expect([answer.status, nestedError.parse(answer.json).error.code]).toEqual([404, 'NO_DATA']);
  });

  it('needs the scope market:supplemental', async () => {
    expect((await (await asker(path, {}, 'market:information'))({ theme: 'ai' })).status).toBe(403);
  });
});

describe('GET /v1/stock/fda-advisory-committee-calendar', () => {
  const path = '/v1/stock/fda-advisory-committee-calendar';

  it('lists meetings in the order of their dates, with every field', async () => {
    const { status, json } = await (await asker(path))();
    expect(status).toBe(200);
    const { data } = fdaCalendar.parse(json);
    expect(data).toHaveLength(12);
    for (const { fromDate, toDate, url } of data) {
      expect(fromDate).toMatch(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/);
      expect(toDate > fromDate).toBe(true);
      expect(URL.canParse(url)).toBe(true);
    }
    const dates = data.map(({ fromDate }) => fromDate);
    expect(dates).toEqual([...dates].sort());
  });

  it('answers 404 without a body where there is no meeting', async () => {
    const answer = await (await asker(path, { research: { fdaEvents: 0 } }))();
    expect([answer.status, answer.text]).toEqual([404, '']);
  });

  it('needs the scope calendar:information', async () => {
    expect((await (await asker(path, {}, 'market:supplemental'))()).status).toBe(403);
  });
});

describe('errors', () => {
  it('come in all three shapes: flat, nested, and without a body', async () => {
    const { description: it } = await runningSandbox({ research: { fdaEvents: 0 } });
    const headers = await signedIn(it);
    const get = (path: string) => ask(`${it.platform}${path}`, { headers });
    const flat = await get('/v1/stocks/prev?ticker=GONE');
    const nested = await get('/v1/stock/investment-theme');
    const none = await get('/v1/stock/fda-advisory-committee-calendar');
    expect(flatError.safeParse(flat.json).success && !nestedError.safeParse(flat.json).success).toBe(true);
    expect(nestedError.safeParse(nested.json).success && !flatError.safeParse(nested.json).success).toBe(true);
    expect([none.status, none.text]).toEqual([404, '']);
  });
});

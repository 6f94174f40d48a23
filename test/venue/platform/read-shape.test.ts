import { describe, expect, it, onTestFinished } from 'vitest';
import {
  readChartQuotes,
  readFdaCalendar,
  readOptionsQuotes,
  readOwnership,
  readPreviousDay,
} from '../../../src/venue/platform/market-data.ts';
import { readHealth } from '../../../src/venue/platform/user-data.ts';
import { platformDeps } from '../../support/platform/platform-deps.ts';
import { json, type Received, scriptedServer } from '../../support/servers/http-server.ts';
import { allOf } from '../all-of.ts';

const signal = new AbortController().signal;
type Answer = Parameters<typeof scriptedServer>[0];

async function client(answer: Answer) {
  const server = await scriptedServer((request, response, count) => {
    if (request.path !== '/v1/oauth2/token') return answer(request, response, count);
    json(response, 200, { access_token: 't', token_type: 'bearer', expires_in: 1000 });
  });
  onTestFinished(() => server.close());
  const calls = () => server.received.filter(({ path }) => path !== '/v1/oauth2/token');
  return { deps: platformDeps(server.url), base: server.url, calls };
}

const query = ({ path }: Received) => Object.fromEntries(new URL(path, 'http://x').searchParams);

describe('reads with a shape', () => {
  it('are repeated on 5xx, and give up on what is no answer of theirs', async () => {
    const twice = await client((_, response, count) => json(response, count < 3 ? 502 : 200, { data: [] }));
    expect(await readFdaCalendar(twice.deps, twice.base, signal)).toEqual({ ok: true, value: [] });
    const foreign = await client((_, response) => json(response, 200, { items: [] }));
    expect(await readFdaCalendar(foreign.deps, foreign.base, signal)).toMatchObject({
      ok: false,
      error: { code: 'BAD_ANSWER', sent: 'yes' },
    });
    expect(foreign.calls()).toHaveLength(1);
  });

  it('read errors in all three shapes', async () => {
    const bodies = [
      { error: 'no', codes: [{ code: 'A', description: 'x' }] },
      { error: { type: 't', code: 'B', message: 'm', meta: {} } },
      undefined,
    ];
    const { deps, base } = await client((_, response, count) => {
      const body = bodies[count - 2];
      if (body === undefined) return void response.writeHead(403).end();
      json(response, 403, body);
    });
    const errors = [];
    for (let i = 0; i < 3; i += 1) {
      const answer = await readOwnership(deps, base, { symbol: 'KO' }, signal);
      errors.push(answer.ok ? undefined : [answer.error.status, answer.error.code, answer.error.type]);
    }
    expect(errors).toEqual([
      [403, 'A', undefined],
      [403, 'B', 't'],
      [403, undefined, undefined],
    ]);
  });

  it('take an answer that says of itself that it failed for a failure', async () => {
    const { deps, base } = await client((request, response) =>
      json(
        response,
        200,
        request.path.startsWith('/v1/chart') ? { s: 'error', d: [] } : { status: 'DELAYED', results: [] },
      ),
    );
    const bad = { ok: false, error: { code: 'BAD_ANSWER' } };
    expect(await readChartQuotes(deps, base, ['KO'], signal)).toMatchObject(bad);
    expect(await readPreviousDay(deps, base, { ticker: 'KO' }, signal)).toMatchObject(bad);
    expect(await allOf(readOptionsQuotes(deps, base, { ticker: 'O:X' }, signal))).toMatchObject([bad]);
  });

  it('keep fields that nobody knows, and do without those that may be absent', async () => {
    const { deps, base } = await client((_, response) =>
      json(response, 200, { s: 'ok', d: [{ n: 'X', s: 'X', v: { beta: 2 } }] }),
    );
    expect(await readChartQuotes(deps, base, ['X'], signal)).toEqual({
      ok: true,
      value: [{ n: 'X', s: 'X', v: { beta: 2 } }],
    });
  });
});

describe('the health of the platform', () => {
  it('is asked once, and told as it is', async () => {
    const down = await client((_, response) => json(response, 503, { error: { code: 'DOWN', message: 'm' } }));
    expect(await readHealth(down.deps, down.base, signal)).toMatchObject({
      ok: false,
      error: { status: 503, code: 'DOWN' },
    });
    expect(down.calls()).toHaveLength(1);
    expect(down.calls()[0]?.headers.authorization).toBeUndefined();
    const html = await client((_, response) => void response.end('<html>'));
    expect(await readHealth(html.deps, html.base, signal)).toMatchObject({ ok: false, error: { code: 'BAD_ANSWER' } });
  });
});

describe('pages of options quotes', () => {
  it('take only the cursor from nextUrl, so that no answer chooses where the token is sent', async () => {
    const elsewhere = await scriptedServer((_, response) => json(response, 200, {}));
    onTestFinished(() => elsewhere.close());
    const { deps, base, calls } = await client((request, response) =>
      json(response, 200, {
        status: 'OK',
        results: [],
        ...(query(request)['next'] === undefined && { nextUrl: `${elsewhere.url}/v1/options/quotes?next=two&limit=1` }),
      }),
    );
    expect(await allOf(readOptionsQuotes(deps, base, { ticker: 'O:X', limit: 7 }, signal))).toHaveLength(2);
    expect(elsewhere.received).toEqual([]);
    expect(calls().map(query)).toEqual([
      { ticker: 'O:X', limit: '7' },
      { ticker: 'O:X', limit: '7', next: 'two' },
    ]);
  });

  it.each([
    ['the same cursor again', '/v1/options/quotes?next=one'],
    ['no cursor', '/v1/options/quotes'],
    ['an address that is none', 'http://['],
  ])('end with LOOP when nextUrl holds %s', async (_, nextUrl) => {
    const { deps, base, calls } = await client((_request, response) =>
      json(response, 200, { status: 'OK', results: [], nextUrl }),
    );
    const pages = await allOf(readOptionsQuotes(deps, base, { ticker: 'O:X' }, signal));
    expect(pages.at(-1)).toMatchObject({ ok: false, error: { code: 'LOOP' } });
    expect(calls().length).toBeLessThanOrEqual(2);
  });
});

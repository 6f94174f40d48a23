// What a user saw: A list whose cursors took turns was read 20,000 times in each audit, and had no end.

import { describe, expect, it, onTestFinished } from 'vitest';
import { CursorCircle } from '../../../src/venue/platform/cursor-circle.ts';
import { platformReads } from '../../../src/venue/platform/platform-reads.ts';
import { platformDeps } from '../../support/platform/platform-deps.ts';
import { accountRow } from '../../support/platform/platform-rows.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

const list = { stream: 'account', accountId: 'acct-1', state: 'all' } as const;
const token = { access_token: 't', token_type: 'bearer', expires_in: 1000 };

/** Reads a list whose page number `at`, from 1, is as given; and how often it was asked for. */
async function listed(page: (at: number) => object) {
  let asked = 0;
  const server = await scriptedServer(({ path }, response) => {
    if (path === '/v1/oauth2/token') return json(response, 200, token);
    asked += 1;
    json(response, 200, page(asked));
  });
  onTestFinished(() => server.close());
  const client = platformReads(platformDeps(server.url), { platformUrl: server.url, stagingUrl: server.url });
  const result = await client.listOrders(list, async () => undefined, new AbortController().signal);
  return { result, asked };
}

const row = (at: number) => ({ ...accountRow, ordId: `O-${at}` });
const loop = { complete: false, error: { code: 'LOOP', retryable: true } };

describe('a list that never ends', () => {
  it.each([1, 2, 3, 7, 50])('is left when its cursors go round after %s pages', async (length) => {
    const { result, asked } = await listed((at) => ({ orders: [row(at)], nextCursor: `c${at % length}` }));
    expect(result).toMatchObject(loop);
    expect(asked).toBeLessThanOrEqual(3 * length + 1);
  });

  it('is left when each cursor is a new one, in front of the same page', async () => {
    const { result, asked } = await listed((at) => ({ orders: [row(1), row(2)], nextCursor: at }));
    expect(result).toMatchObject(loop);
    expect(asked).toBe(2);
  });

  it('is left when only empty pages follow, each with a new cursor', async () => {
    const { result, asked } = await listed((at) => ({ orders: at < 3 ? [row(at)] : [], nextCursor: at * 500 }));
    expect(result).toMatchObject(loop);
    expect(asked).toBeLessThan(250);
  });

  it('is read on over a hundred empty pages', async () => {
    const { result } = await listed((at) => ({
      orders: at === 100 ? [row(at)] : [],
      nextCursor: at < 150 ? at : null,
    }));
    expect(result).toEqual({ complete: true, rows: 1 });
  });

  it('is read on where two pages have a row in common, or none', async () => {
    const pages = [[row(1), row(2)], [row(2), row(3)], [], [], [row(3)]];
    const { result } = await listed((at) => ({
      orders: pages[at - 1],
      nextCursor: at < pages.length ? `c${at}` : null,
    }));
    expect(result).toEqual({ complete: true, rows: 5 });
  });
});

it('a list of any length with cursors of its own is no circle', () => {
  const circle = new CursorCircle();
  for (let at = 0; at < 20_000; at += 1) expect(circle.closes(`c${at}`)).toBe(false);
});

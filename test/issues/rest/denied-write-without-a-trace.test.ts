// What a user saw: A write that was refused for missing rights was in no audit trail.

import { afterEach, expect, it } from 'vitest';
import { scopes } from '../../../src/service/rest/auth/principal.ts';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function started() {
  const clock = new VirtualClock();
  const desk = { name: 'desk', sha256: sha256('desk'), scopes, accounts: ['ACC-1'] };
  const reader = { name: 'reader', sha256: sha256('reader'), scopes: ['orders:read'], accounts: 'all' as const };
  const rig = await startRest({ clock, log: testLog, auth: { tokens: [desk, reader] } });
  const stop = () => rig.server.drain(new AbortController().signal);
  stops.push(stop);
  const send = async (token: string, method: string, path: string, body?: object) => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}`, 'x-request-id': 'request-1' };
    if (body !== undefined) Object.assign(headers, { 'content-type': 'application/json', 'idempotency-key': 'k' });
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    return (await ask(`${rig.address}${path}`, init)).status;
  };
  return { ...rig, clock, send, stop };
}

const order = { symbol: 'AAPL', side: 'BUY', type: 'MARKET', qty: '1', timeInForce: 'DAY' };
const entry = (principal: string, reason: string, detail: object, accountId?: string) =>
  expect.objectContaining({
    principal,
    action: 'denied',
    reason,
    requestId: 'request-1',
    detail,
    ...(accountId && { accountId }),
  });

it('a denied write is in the audit trail: who, route, account, why', async () => {
  const { send, audits } = await started();
  expect(await send('reader', 'POST', '/v1/orders', { ...order, accountId: 'ACC-1' })).toBe(403);
  expect(await send('desk', 'POST', '/v1/orders', { ...order, accountId: 'ACC-2' })).toBe(404);
  expect(await send('desk', 'POST', '/v1/accounts/ACC-3/halt', { reason: 'r' })).toBe(404);
  expect(await send('desk', 'POST', '/v1/halt', { reason: 'r' })).toBe(403);
  expect(audits).toEqual([
    entry('reader', 'INSUFFICIENT_SCOPE', { route: 'POST /v1/orders', times: 1 }),
    entry('desk', 'ACCOUNT_NOT_FOUND', { route: 'POST /v1/orders', ofToken: false, times: 1 }, 'ACC-2'),
    entry(
      'desk',
      'ACCOUNT_NOT_FOUND',
      { route: 'POST /v1/accounts/:accountId/halt', ofToken: false, times: 1 },
      'ACC-3',
    ),
    entry('desk', 'EVERY_ACCOUNT_NEEDED', { route: 'POST /v1/halt', times: 1 }),
  ]);
});

it('what is no write, was not denied, or is of no known caller is none', async () => {
  const { send, audits } = await started();
  expect(await send('desk', 'GET', '/v1/orders/account/no-such-order')).toBe(404);
  expect(await send('desk', 'POST', '/v1/orders', { accountId: 'ACC-1' })).toBe(400);
  expect(await send('guessed', 'POST', '/v1/halt', { reason: 'r' })).toBe(401);
  expect(audits).toEqual([]);
});

it('a flood of denied writes is a few entries a minute, whose numbers add up', async () => {
  const { send, audits, clock, stop } = await started();
  for (let i = 0; i < 100; i += 1) await send('desk', 'POST', `/v1/accounts/FOREIGN-${i % 50}/halt`, { reason: 'r' });
  await send('reader', 'POST', '/v1/halt', { reason: 'r' });
  expect(audits.filter(({ principal }) => principal === 'desk')).toHaveLength(21);
  expect(
    audits.filter(({ principal }) => principal === 'reader'),
    'of another it is seen all the same',
  ).toHaveLength(1);
  expect(audits.at(-2)).toEqual(entry('desk', 'SEVERAL', { route: 'several', times: 1 }));
  await clock.advance(60_000);
  const times = () =>
    audits.reduce((sum, { principal, detail }) => sum + (principal === 'desk' ? Number(detail?.['times']) : 0), 0);
  expect(times()).toBe(100);
  expect(audits.length).toBeLessThanOrEqual(2 * 21 + 1);
  for (let i = 0; i < 3; i += 1) await send('desk', 'POST', '/v1/halt', { reason: 'r' });
  await stop();
  expect(times(), 'also those of the last minute before the end').toBe(103);
});

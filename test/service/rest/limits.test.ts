import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { accountBody } from '../../support/rest/route-samples.ts';

const scopes = ['orders:write', 'ops:read', 'ops:write'];
const row = { bounds: { maxQuantity: '5' }, changedBy: 'olga', reason: 'asked for', changedAtMs: 0 };

let rig: Awaited<ReturnType<typeof startRest>>;
beforeEach(async () => {
  const tokens = [
    { name: 'desk', sha256: sha256('everything'), scopes, accounts: 'all' as const },
    { name: 'one', sha256: sha256('of-one-account'), scopes, accounts: ['ACC-1'] },
  ];
  rig = await startRest({ auth: { tokens } });
});
afterEach(() => rig.server.drain(new AbortController().signal));

function send(method: string, path: string, token: string, body?: object) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'key-1' };
  return ask(`${rig.address}${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

const change = (body: object, token = 'everything') =>
  send('PATCH', '/v1/limits', token, { reason: ' asked for ', ...body });

describe('limits', () => {
  it('are shown to a token of one account where they are of that account or of none', async () => {
    rig.commands.limitsAnswer = {
      kind: 'done',
      limits: [row, { ...row, accountId: 'ACC-1' }, { ...row, accountId: 'ACC-2' }, { ...row, principal: 'robot' }],
    };
    const { status, body } = await send('GET', '/v1/limits', 'of-one-account');
    const shown = { bounds: row.bounds, changedBy: 'olga', reason: 'asked for', changedAt: '1970-01-01T00:00:00.000Z' };
    expect([status, body]).toEqual([
      200,
      { items: [shown, { ...shown, accountId: 'ACC-1' }, { ...shown, principal: 'robot' }] },
    ]);
    expect((await send('GET', '/v1/limits', 'everything')).body['items']).toHaveLength(4);
  });

  it('are changed as far as they are named: canonical, upper case, and null for a bound that goes', async () => {
    const bounds = { maxQuantity: '5.50', allowedSymbols: ['aapl'], ordersPerMinute: 60, collarPercent: null };
    expect((await change({ accountId: 'ACC-1', principal: 'robot', bounds })).status).toBe(200);
    const asked = { maxQuantity: '5.5', allowedSymbols: ['AAPL'], ordersPerMinute: 60, collarPercent: null };
    const [word] = rig.commands.words;
    expect(word).toMatchObject({
      on: { accountId: 'ACC-1', principal: 'robot' },
      word: { by: 'desk', reason: 'asked for' },
    });
    expect(JSON.parse(word?.what.slice('limits '.length) ?? '')).toEqual(asked);
  });

  it.each([
    ['no bound at all', { bounds: {} }, 'INVALID_BODY'],
    ['a number for a decimal', { bounds: { maxQuantity: 5 } }, 'INVALID_BODY'],
    ['zero for a quantity', { bounds: { maxQuantity: '0' } }, 'INVALID_BODY'],
    ['a fraction for a count', { bounds: { maxOpenOrders: 1.5 } }, 'INVALID_BODY'],
    ['an instrument that there is not', { bounds: { instruments: ['bond'] } }, 'INVALID_BODY'],
    ['a limit that there is not', { bounds: { maxQuantity: '1', maxEverything: '1' } }, 'UNKNOWN_FIELD'],
    ['an empty principal', { principal: '', bounds: { maxQuantity: '1' } }, 'INVALID_BODY'],
  ])('are not changed by %s', async (_what, body, code) => {
    const answer = await change(body);
    expect([answer.status, answer.body['code'], rig.commands.words]).toEqual([400, code, []]);
  });

  it('of every account are not changed by a token of one, nor those of an account that it does not name', async () => {
    const bounds = { maxQuantity: '5' };
    expect(await change({ bounds }, 'of-one-account')).toMatchObject({
      status: 403,
      body: { code: 'EVERY_ACCOUNT_NEEDED' },
    });
    expect(await change({ principal: 'one', bounds }, 'of-one-account')).toMatchObject({ status: 403 });
    expect(await change({ accountId: 'ACC-2', bounds }, 'of-one-account')).toMatchObject({ status: 404 });
    expect(rig.commands.words).toEqual([]);
    expect((await change({ accountId: 'ACC-1', bounds }, 'of-one-account')).status).toBe(200);
  });

  it('that refuse a command are named in its problem, with value and bound', async () => {
    const breach = { limit: 'maxQuantity', value: '10', bound: '5' } as const;
    rig.commands.submitAnswer = () => ({ kind: 'declined', code: 'LIMIT_EXCEEDED', message: 'too much', breach });
    const exceeded = await send('POST', '/v1/orders', 'everything', accountBody);
    expect(exceeded).toMatchObject({ status: 409, body: { code: 'LIMIT_EXCEEDED', retryable: false, breach } });
    const unvalued = { limit: 'collarPercent', bound: '5', why: 'there is no quote', needsQuote: true } as const;
    rig.commands.submitAnswer = () => ({
      kind: 'declined',
      code: 'LIMIT_NOT_EVALUATED',
      message: 'no quote',
      breach: unvalued,
    });
    const { body } = await send('POST', '/v1/orders', 'everything', accountBody);
    expect(body['breach']).toEqual({ limit: 'collarPercent', bound: '5' });
  });
});

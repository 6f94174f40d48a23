import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { previewAnswer } from '../../../src/contract/preview-answer.ts';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { accountBody, predictionBody } from '../../support/rest/route-samples.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
beforeEach(async () => {
  const scopes = ['orders:write'];
  const token = { name: 'desk', sha256: sha256('secret'), scopes, accounts: ['ACC-1'] };
  const reader = {
    name: 'reader',
    sha256: sha256('of-a-reader'),
    scopes: ['orders:read', 'ops:read'],
    accounts: 'all' as const,
  };
  rig = await startRest({ auth: { tokens: [token, reader] } });
});
afterEach(() => rig.server.drain(new AbortController().signal));

function preview(path: string, body: object, token = 'secret', more: Readonly<Record<string, string>> = {}) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more };
  return ask(`${rig.address}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

const measure = { symbols: ['AAPL'], underlyings: ['AAPL'], instrument: 'equity', deviationPercent: null } as const;

describe('a preview over REST', () => {
  it('shows terms, value, quotes, limits and refusals, needs no key, and submits nothing', async () => {
    rig.commands.previewAnswer = {
      kind: 'done',
      measure: { ...measure, quantity: '10', notional: null, exposure: null, valuedByQuote: true },
      quotes: [{ kind: 'equity', symbol: 'AAPL', quote: { price: '2', bid: '1', ask: '3', last: '2', ageMs: 7 } }],
      limits: [{ limit: 'maxNotional', bound: '5', broken: true, why: 'there is no quote', needsQuote: true }],
      refusals: [
        { kind: 'declined', code: 'PLACING_HALTED', message: 'placing is halted' },
        { kind: 'declined', code: 'RATE_LIMITED', message: 'later', retryAfterMs: 50 },
      ],
    };
    const { status, body } = await preview('/v1/orders/preview', {
      ...accountBody,
      symbol: 'aapl',
      qty: '10.0',
      clientId: 'mine',
    });
    expect([status, previewAnswer.strict().safeParse(body).error?.issues]).toEqual([200, undefined]);
    expect(body).toMatchObject({
      ...{ stream: 'account', accountId: 'ACC-1', quantity: '10', value: null, noValue: 'there is no quote' },
      terms: { symbol: 'AAPL', qty: '10' },
      quotes: [{ kind: 'equity', symbol: 'AAPL', bid: '1', ask: '3', last: '2', ageMs: 7 }],
      limits: [{ limit: 'maxNotional', bound: '5', broken: true, why: 'there is no quote' }],
      refusals: [
        { code: 'PLACING_HALTED', message: 'placing is halted' },
        { code: 'RATE_LIMITED', retryAfterMs: 50 },
      ],
    });
    expect(rig.commands.previews).toMatchObject([{ principal: 'desk', callerRef: 'mine', request: { kind: 'place' } }]);
    expect((await preview('/v1/predictions/orders/preview', predictionBody)).body).toMatchObject({
      stream: 'prediction',
    });
    expect(rig.commands.submissions).toEqual([]);
  });

  it('names all faults of a body at once, as a place does', async () => {
    const { status, body } = await preview('/v1/orders/preview', { ...accountBody, qty: '0', price: 'x' });
    expect([status, body['code'], (body['faults'] as unknown[]).length]).toEqual([400, 'INVALID_ORDER', 2]);
    expect(rig.commands.previews).toEqual([]);
  });

  it('is not for an account that the token does not name, nor for a token that may not place', async () => {
    const other = await preview('/v1/orders/preview', { ...accountBody, accountId: 'ACC-2' });
    const reader = await preview('/v1/orders/preview', accountBody, 'of-a-reader');
    expect([other.status, other.body['code'], reader.status, reader.body['code']]).toEqual([
      ...[404, 'ACCOUNT_NOT_FOUND', 403, 'INSUFFICIENT_SCOPE'],
    ]);
    expect(rig.commands.previews).toEqual([]);
  });

  it('of a replace is for the order in its path, and for a revision of it where one is named', async () => {
    rig.commands.previewAnswer = {
      ...{ kind: 'done', quotes: [], limits: [] },
      measure: { ...measure, exposure: '0', valuedByQuote: false },
      refusals: [{ kind: 'declined', code: 'ORDER_CLOSED', message: 'the order is filled' }],
    };
    const terms = { accountId: 'ACC-1', price: '0.50' };
    const predicted = await preview('/v1/predictions/orders/ord-1/preview', terms);
    expect([predicted.status, previewAnswer.strict().safeParse(predicted.body).error?.issues]).toEqual([
      ...[200, undefined],
    ]);
    expect(predicted.body).toMatchObject({
      ...{ stream: 'prediction', terms: { price: '0.5' }, value: null, noValue: 'the new terms do not raise it' },
      refusals: [{ code: 'ORDER_CLOSED' }],
    });
    const atAlpaca = { accountId: 'ACC-1', stream: 'alpaca_paper', qty: '12' };
    await preview('/v1/orders/ord-1/preview', atAlpaca, 'secret', { 'if-match': '"7"' });
    expect(rig.commands.previews).toMatchObject([
      { request: { kind: 'replace', stream: 'prediction', orderId: 'ord-1' } },
      { request: { kind: 'replace', stream: 'alpaca_paper', terms: { quantity: '12' } }, ifRevision: 7 },
    ]);
    expect(rig.commands.previews[0]).not.toHaveProperty('ifRevision');
    const torn = await preview('/v1/orders/ord-1/preview', atAlpaca, 'secret', { 'if-match': '7' });
    const none = await preview('/v1/orders/ord-1/preview', { ...atAlpaca, stream: 'account' });
    expect([torn.body['code'], none.body['code']]).toEqual(['INVALID_IF_MATCH', 'INVALID_ORDER']);
    expect(rig.commands.submissions).toEqual([]);
  });

  it.each([
    ['NOT_LEADER', 503],
    ['COMMANDS_OFF', 403],
    ['RATE_LIMITED', 429],
    ['STORE_UNAVAILABLE', 503],
  ] as const)('ends with %s where the process can not say', async (code, status) => {
    rig.commands.previewAnswer = { kind: 'declined', code, message: 'not now', retryAfterMs: 1_000 };
    const answer = await preview('/v1/orders/preview', accountBody);
    expect([answer.status, answer.body['code']]).toEqual([status, code]);
  });

  it('leaves an order of the id "preview" to be cancelled', async () => {
    const headers = { authorization: 'Bearer secret', 'idempotency-key': 'key-1' };
    const path = '/v1/orders/preview?accountId=ACC-1';
    expect((await ask(`${rig.address}${path}`, { method: 'DELETE', headers })).status).toBeLessThan(300);
    expect(rig.commands.submissions).toMatchObject([{ request: { kind: 'cancel', orderId: 'preview' } }]);
  });
});

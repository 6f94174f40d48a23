import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
beforeEach(async () => {
  rig = await startRest();
});
afterEach(() => rig.server.drain(new AbortController().signal));

const get = (path: string) => ask(`${rig.address}${path}`);
const post = (path: string, body: object) =>
  ask(`${rig.address}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
const reason = 'a fill is missing';

describe('GET /v1/accounts', () => {
  const row = { stream: 'account', accountId: 'ACC-1', isSim: true, openOrders: 2 } as const;
  const atMs = Date.UTC(2026, 10, 21, 14, 30);
  const at = '2026-11-21T14:30:00.000Z';

  it('has the state of each account where the process follows them', async () => {
    rig.reads.accountRows = [row, { ...row, accountId: 'ACC-2' }];
    const found = { orders: 9, changes: 2, silentLosses: 1 };
    const times = { sinceMs: atMs, lastEventMs: atMs, lastResyncMs: atMs };
    rig.followed.accounts = [
      {
        ...{
          stream: 'account',
          accountId: 'ACC-1',
          state: 'live',
          ...times,
          silentLosses: 3,
          lastError: 'closed',
          beside: [],
        },
        ...{ lastAudit: { atMs, ...found }, tokenExpiresMs: Date.now() + 90_500 },
      },
      { stream: 'prediction', accountId: 'ACC-1', state: 'down', sinceMs: atMs, silentLosses: 0, beside: [] },
    ];
    const { body } = await get('/v1/accounts');
    expect(body).toEqual({
      items: [
        {
          ...{
            ...row,
            state: 'live',
            since: at,
            lastEvent: at,
            lastResync: at,
            lastAudit: { at, ...found },
            silentLosses: 3,
          },
          ...{ lastError: 'closed', tokenExpires: expect.stringMatching(/Z$/), tokenSecondsLeft: expect.any(Number) },
        },
        { ...row, accountId: 'ACC-2', state: 'not_followed' },
      ],
      statesKnown: true,
    });
    const [first] = body['items'] as { tokenSecondsLeft: number }[];
    expect(first?.tokenSecondsLeft).toBeGreaterThan(60);
    expect(first?.tokenSecondsLeft).toBeLessThanOrEqual(90);
  });

  it('has pages, each with the states of its accounts, also of one account alone', async () => {
    rig.reads.accountRows = ['ACC-1', 'ACC-2', 'ACC-3'].map((accountId) => ({ ...row, accountId }));
    rig.followed.accounts = [{ ...row, accountId: 'ACC-3', state: 'live', sinceMs: atMs, silentLosses: 0, beside: [] }];
    const first = (await get('/v1/accounts?limit=2')).body;
    expect(first).toMatchObject({ items: [{ accountId: 'ACC-1' }, { accountId: 'ACC-2' }], statesKnown: true });
    const second = (await get(`/v1/accounts?limit=2&cursor=${String(first['next'])}`)).body;
    expect(second).toMatchObject({ items: [{ accountId: 'ACC-3', state: 'live' }], statesKnown: true });
    expect(second).not.toHaveProperty('next');
    expect((await get('/v1/accounts?accountId=ACC-2')).body['items']).toMatchObject([{ accountId: 'ACC-2' }]);
    expect((await get('/v1/accounts?cursor=x')).body).toMatchObject({ code: 'INVALID_CURSOR' });
  });

  it('says that a process which stands by does not know the states', async () => {
    rig.reads.accountRows = [row];
    expect((await get('/v1/accounts')).body).toEqual({ items: [row], statesKnown: false });
  });

  it('never shows a token that ended as time left', async () => {
    rig.reads.accountRows = [row];
    rig.followed.accounts = [
      { ...row, state: 'login_required', sinceMs: atMs, silentLosses: 0, tokenExpiresMs: atMs, beside: [] },
    ];
    expect((await get('/v1/accounts')).body['items']).toMatchObject([{ tokenExpires: at, tokenSecondsLeft: 0 }]);
  });
});

describe('POST /v1/accounts/{accountId}/read and /backfill', () => {
  it('write the request down with its principal and reason, and in the audit trail', async () => {
    const read = await post('/v1/accounts/ACC-1/read', { reason: ` ${reason} ` });
    expect([read.status, read.headers.get('location')]).toEqual([202, '/v1/accounts/ACC-1/repairs']);
    const said = { by: 'loopback', reason, requestedAt: expect.stringMatching(/Z$/), state: 'waiting' };
    expect(read.body).toEqual({ items: [{ requestId: '1', kind: 'read', stream: 'account', ...said }] });
    const from = '2026-11-01T01:00:00.000Z';
    const backfill = await post('/v1/accounts/ACC-1/backfill', {
      reason,
      from: '2026-11-01T02:00:00+01:00',
      stream: 'prediction',
    });
    expect(backfill.body).toEqual({
      items: [{ requestId: '2', kind: 'backfill', stream: 'prediction', from, ...said }],
    });
    expect(rig.repairs.asked).toEqual([
      { kind: 'read', accountId: 'ACC-1', askedBy: 'loopback', reason },
      {
        kind: 'backfill',
        accountId: 'ACC-1',
        stream: 'prediction',
        sinceMs: Date.parse(from),
        askedBy: 'loopback',
        reason,
      },
    ]);
    expect(rig.audits).toMatchObject([
      { principal: 'loopback', action: 'read', accountId: 'ACC-1', reason, detail: { requests: ['1'] } },
      { action: 'backfill', accountId: 'ACC-1', reason, detail: { requests: ['2'], stream: 'prediction', from } },
    ]);
    const listed = (await get('/v1/accounts/ACC-1/repairs')).body;
    expect((listed['items'] as { requestId: string }[]).map(({ requestId }) => requestId)).toEqual(['2', '1']);
  });

  it.each([
    ['read', {}],
    ['read', { reason, from: '2026-11-01T00:00:00Z' }],
    ['read', { reason, stream: 'other' }],
    ['backfill', { reason: ' ' }],
    ['backfill', { reason, from: 'yesterday' }],
    ['backfill', { reason, from: '1969-12-31T23:59:59Z' }],
  ])('refuse %s with %j', async (verb, body) => {
    expect(await post(`/v1/accounts/ACC-1/${verb}`, body)).toMatchObject({ status: 400 });
    expect([rig.repairs.asked, rig.audits]).toEqual([[], []]);
  });

  it('are not found for an account that was never followed, and wait while ten are open', async () => {
    expect(await post('/v1/accounts/ACC-9/read', { reason })).toMatchObject({
      status: 404,
      body: { code: 'ACCOUNT_NOT_FOUND' },
    });
    rig.repairs.mostOpen = 0;
    const full = await post('/v1/accounts/ACC-1/read', { reason });
    expect([full.status, full.body['code'], full.headers.get('retry-after')]).toEqual([429, 'TOO_MANY_REPAIRS', '5']);
    expect(rig.audits).toMatchObject([{ action: 'denied' }]);
  });
});

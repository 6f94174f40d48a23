import { afterEach, describe, expect, it } from 'vitest';
import { deadLetterAnswer, deadLetterJobAnswer } from '../../../src/contract/dead-letter-bodies.ts';
import { scopes } from '../../../src/service/rest/auth/principal.ts';
import { jobId, sampleRow } from '../../support/orders/memory-dead-letters.ts';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';

const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start() {
  const tokens = [
    { name: 'desk', sha256: sha256('every-account'), scopes, accounts: 'all' as const },
    { name: 'one', sha256: sha256('account-two'), scopes, accounts: ['ACC-2'] },
  ];
  const rig = await startRest({ auth: { tokens } });
  stops.push(() => rig.server.drain(new AbortController().signal));
  rig.deadLetters.rows = [
    sampleRow(),
    sampleRow({ id: '18', accountId: 'ACC-2', orderId: 'ord-2' }),
    withoutNames(sampleRow({ id: '19', stream: 'prediction', reason: 'not_json' })),
  ];
  const send = (method: 'GET' | 'POST', path: string, body?: object, token = 'every-account', headers = {}) =>
    ask(`${rig.address}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
  return { ...rig, send };
}

function withoutNames({ accountId: _account, orderId: _order, ...row }: ReturnType<typeof sampleRow>) {
  return row;
}

const idsOf = (body: Record<string, unknown>) => (body['items'] as { id: string }[]).map(({ id }) => id);
const reason = 'checked with the venue';

describe('the list', () => {
  it('has the rows that match, a page at a time, without their text', async () => {
    const { send } = await start();
    const first = await send('GET', '/v1/dead-letters?limit=2');
    expect(idsOf(first.body)).toEqual(['17', '18']);
    expect(first.text).not.toContain('raw');
    expect(idsOf((await send('GET', `/v1/dead-letters?limit=2&cursor=${first.body['next']}`)).body)).toEqual(['19']);
    expect(idsOf((await send('GET', '/v1/dead-letters?stream=prediction')).body)).toEqual(['19']);
    expect(idsOf((await send('GET', '/v1/dead-letters?reason=bad_decimal&accountId=ACC-2')).body)).toEqual(['18']);
    expect((await send('GET', `/v1/dead-letters?stream=account&cursor=${first.body['next']}`)).body['code']).toBe(
      'INVALID_CURSOR',
    );
  });

  it('has rows of its accounts only for a token of some, and none without an account', async () => {
    const { send } = await start();
    expect(idsOf((await send('GET', '/v1/dead-letters', undefined, 'account-two')).body)).toEqual(['18']);
    for (const id of ['17', '19'])
      expect((await send('GET', `/v1/dead-letters/${id}`, undefined, 'account-two')).body['code']).toBe(
        'ROW_NOT_FOUND',
      );
  });
});

describe('one row', () => {
  it('is shown with the message as it came', async () => {
    const { send } = await start();
    expect((await send('GET', '/v1/dead-letters/17')).body).toMatchObject({ id: '17', raw: '{"price":1e5}' });
    for (const id of ['20', '0', 'x', '1e3']) expect((await send('GET', `/v1/dead-letters/${id}`)).status).toBe(404);
  });

  it('is read again with a reason, and 202 says that the answer is not there yet', async () => {
    const { send, deadLetters } = await start();
    expect(await send('POST', '/v1/dead-letters/17/retry', { reason })).toMatchObject({
      status: 200,
      body: { retry: { result: 'failed', detail: 'not shown' } },
    });
    deadLetters.answer = 'open';
    const open = await send('POST', '/v1/dead-letters/18/retry', { reason });
    expect([open.status, Object.keys(open.body['retry'] as object)]).toEqual([202, ['requestedAt']]);
    expect(deadLetterAnswer.parse(open.body)).toEqual(open.body);
    expect(deadLetters.actions).toMatchObject([
      { retry: '17', word: { by: 'desk', reason, requestId: expect.any(String) } },
      { retry: '18' },
    ]);
  });

  it('is waited for as long as the caller says', async () => {
    const { send, deadLetters } = await start();
    deadLetters.answer = 'open';
    const asked = send('POST', '/v1/dead-letters/17/retry', { reason }, 'every-account', { prefer: 'wait=20' });
    await expect.poll(() => deadLetters.actions.length).toBe(1);
    deadLetters.answer = 'failed';
    await deadLetters.retry({ kind: 'all' }, '17', { by: 'desk', reason, requestId: 'r' });
    const answered = await asked;
    expect([answered.status, answered.headers.get('preference-applied')]).toEqual([200, 'wait=20']);
  });

  it('that names no order is not read again', async () => {
    const { send, deadLetters } = await start();
    expect(await send('POST', '/v1/dead-letters/19/retry', { reason })).toMatchObject({
      status: 409,
      body: { code: 'NAMES_NO_ORDER' },
    });
    expect(deadLetters.actions).toEqual([]);
  });

  it('is discarded once', async () => {
    const { send } = await start();
    expect((await send('POST', '/v1/dead-letters/17/discard', {})).body['code']).toBe('INVALID_BODY');
    expect((await send('POST', '/v1/dead-letters/17/discard', { reason })).body).toMatchObject({
      dealtAt: expect.any(String),
    });
    for (const verb of ['discard', 'retry'])
      expect((await send('POST', `/v1/dead-letters/17/${verb}`, { reason })).body['code']).toBe('ALREADY_DEALT_WITH');
  });
});

describe('a job', () => {
  const job = { action: 'retry', filter: { reason: 'bad_decimal' }, reason };

  it('is journaled with the name of its principal, and found under its Location', async () => {
    const { send, deadLetters } = await start();
    const made = await send('POST', '/v1/dead-letters/jobs', job);
    expect(made).toMatchObject({ status: 202, body: { job: { state: 'running', total: 2, by: 'desk', reason } } });
    expect(deadLetterJobAnswer.parse(made.body)).toEqual(made.body);
    expect(deadLetters.actions).toMatchObject([{ job: 'retry', filter: job.filter, word: { by: 'desk', reason } }]);
    const path = made.headers.get('location') ?? '';
    expect((await send('GET', path)).body).toEqual(made.body);
  });

  it('may name its rows one by one', async () => {
    const { send, deadLetters } = await start();
    const filter = { rowIds: ['17', '999'] };
    expect((await send('POST', '/v1/dead-letters/jobs', { ...job, filter })).body).toMatchObject({
      job: { total: 1, filter },
    });
    expect(deadLetters.actions).toMatchObject([{ filter }]);
    const counted = { action: 'discard', filter, reason, dryRun: true };
    expect((await send('POST', '/v1/dead-letters/jobs', counted, 'account-two')).body).toEqual({
      total: 0,
      nameless: 0,
    });
    for (const rowIds of [
      [],
      ['x'],
      [17],
      ['9223372036854775808'],
      Array.from({ length: 201 }, (_, at) => String(at + 1)),
    ])
      expect((await send('POST', '/v1/dead-letters/jobs', { ...job, filter: { rowIds } })).body['code']).toBe(
        'INVALID_BODY',
      );
  });

  it('that is only counted writes nothing', async () => {
    const { send, deadLetters } = await start();
    const all = { action: 'retry', filter: {}, reason, dryRun: true };
    expect((await send('POST', '/v1/dead-letters/jobs', all)).body).toEqual({ total: 3, nameless: 1 });
    expect((await send('POST', '/v1/dead-letters/jobs', { ...all, action: 'discard' })).body).toEqual({
      total: 3,
      nameless: 0,
    });
    expect((await send('POST', '/v1/dead-letters/jobs', all, 'account-two')).body).toEqual({ total: 1, nameless: 0 });
    expect(deadLetters.actions).toEqual([]);
  });

  it('of a token of some accounts has their rows only, and cannot name another account', async () => {
    const { send, deadLetters } = await start();
    const foreign = await send(
      'POST',
      '/v1/dead-letters/jobs',
      { ...job, filter: { accountId: 'ACC-1' } },
      'account-two',
    );
    expect([foreign.status, foreign.body['code'], deadLetters.actions]).toEqual([404, 'ACCOUNT_NOT_FOUND', []]);
    const own = await send('POST', '/v1/dead-letters/jobs', { ...job, filter: { accountId: 'ACC-2' } }, 'account-two');
    expect([own.status, own.body]).toMatchObject([202, { job: { total: 1, by: 'one' } }]);
  });

  it('needs a reason, and a filter that is understood', async () => {
    const { send, deadLetters } = await start();
    const bad = [
      { ...job, reason: ' ' },
      { action: 'retry', reason },
      { ...job, action: 'delete' },
      { ...job, filter: { stream: 'x' } },
    ];
    for (const body of bad)
      expect((await send('POST', '/v1/dead-letters/jobs', body)).body['code']).toBe('INVALID_BODY');
    const misspelt = { ...job, filter: { account: 'ACC-1' } };
    expect((await send('POST', '/v1/dead-letters/jobs', misspelt)).body['code']).toBe('UNKNOWN_FIELD');
    expect(deadLetters.actions).toEqual([]);
  });

  it('is refused while there are as many as there may be', async () => {
    const { send, deadLetters } = await start();
    deadLetters.full = true;
    const refused = await send('POST', '/v1/dead-letters/jobs', job);
    expect([refused.status, refused.body['code'], refused.headers.get('retry-after')]).toEqual([
      429,
      'TOO_MANY_JOBS',
      '60',
    ]);
  });

  it('is cancelled with a reason', async () => {
    const { send, deadLetters } = await start();
    const path = `/v1/dead-letters/jobs/${jobId}`;
    expect((await send('POST', `${path}/cancel`, { reason }, 'account-two')).body['code']).toBe('JOB_NOT_FOUND');
    expect(deadLetters.actions).toEqual([]);
    expect((await send('POST', `${path}/cancel`, { reason })).body).toMatchObject({
      job: { state: 'cancelled', cancelledBy: 'desk' },
    });
  });
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../../src/domain/command.ts';
import { declineCodes } from '../../../src/service/commands/answer.ts';
import { scopes } from '../../../src/service/rest/auth/principal.ts';
import { statusOf } from '../../../src/service/rest/problem-codes.ts';
import { commandId, commandOf, sampleCommand } from '../../support/commands/scripted-commands.ts';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { accountBody, predictionBody } from '../../support/rest/route-samples.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
beforeEach(async () => {
  rig = await startRest();
});
afterEach(() => rig.server.drain(new AbortController().signal));

function place(headers: Record<string, string> = {}, body: object = accountBody) {
  return ask(`${rig.address}/v1/orders`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'idempotency-key': 'key-1', ...headers },
  });
}

function cancel(headers: Record<string, string> = {}) {
  const init = { method: 'DELETE', headers: { 'idempotency-key': 'key-1', ...headers } };
  return ask(`${rig.address}/v1/orders/ord-1?accountId=ACC-1`, init);
}

const evidence = [
  { number: 1, kind: 'answer', code: 'accepted', detail: { status: 200 }, atMs: 1_700_000_000_200 },
] as const;

describe('a place of an account order', () => {
  it('is handed on with its terms, its references and who asked', async () => {
    const supersedes = '11111111-1111-4111-8111-111111111111';
    await place({ 'x-request-id': 'req-1' }, { ...accountBody, clientId: 'mine', supersedes });
    expect(rig.commands.submissions).toEqual([
      {
        principal: 'loopback',
        idempotencyKey: 'key-1',
        requestId: 'req-1',
        callerRef: 'mine',
        supersedes,
        request: {
          kind: 'place',
          stream: 'account',
          accountId: 'ACC-1',
          terms: { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', price: '187.5' },
        },
      },
    ]);
  });

  it('answers 200 with the command once nothing about it is open', async () => {
    const { status, headers, body } = await place();
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('location')).toBe(`/v1/commands/${commandId}`);
    expect(body).toMatchObject({
      commandId,
      result: 'accepted',
      state: 'accepted',
      presumedAbsent: false,
      attempts: [{ number: 1, state: 'accepted', epoch: '9007199254740993', sendingAt: '2023-11-14T22:13:20.050Z' }],
      links: { self: `/v1/commands/${commandId}` },
    });
    expect(body).not.toHaveProperty('evidence');
  });

  it.each([
    ['open', 'unknown', 202],
    ['unknown', 'unknown', 202],
    ['conflict', 'conflict', 202],
    ['accepted', 'accepted', 200],
    ['applied', 'applied', 200],
    ['rejected', 'rejected', 200],
    ['refused', 'refused', 200],
    ['not_sent', 'not_sent', 200],
    ['moot', 'moot', 200],
  ] as const)('in state %s is told as %s with %i', async (state, result, expected) => {
    rig.commands.submitAnswer = (asked) => ({ kind: 'journaled', command: commandOf(asked, state), replayed: false });
    const { status, headers, body } = await place();
    expect([status, body['result'], body['state']]).toEqual([expected, result, state]);
    expect(headers.get('location')).toBe(`/v1/commands/${commandId}`);
    expect(headers.get('retry-after')).toBe(expected === 202 ? '1' : null);
  });

  it.each([
    ['open', {}, 'finding out, and asks the platform next at 2023-11-14T22:13:35.000Z'],
    ['unknown', {}, 'finding out, and asks the platform next at 2023-11-14T22:13:35.000Z'],
    ['unknown', { presumedAbsent: true }, 'a person has to decide'],
    ['conflict', {}, 'a person has to resolve it'],
  ] as const)('in state %s with 202 says why, what to do and what not: %j', async (state, over, now) => {
    rig.commands.probe = { atMs: 1_700_000_015_000, by: 'reference' };
    rig.commands.submitAnswer = (asked) => ({
      ...{ kind: 'journaled', replayed: false },
      command: { ...commandOf(asked, state), ...over },
    });
    const { body } = await place();
    expect(body['advice']).toMatch(
      /^Do not send it under another key: .+\. Its result will be at \/v1\/commands\/\S+\.$/,
    );
    expect(body['advice']).toContain(now);
    expect(body['nextProbe']).toEqual({ at: '2023-11-14T22:13:35.000Z', by: 'reference' });
    if (state === 'open')
      expect(body['reason']).toEqual({ code: 'NO_ANSWER_YET', message: 'the platform has not answered yet' });
  });

  it('advises nothing once its result is known', async () => {
    expect((await place()).body).not.toHaveProperty('advice');
  });

  it('names the order, and links to it', async () => {
    rig.commands.submitAnswer = (asked) => ({
      kind: 'journaled',
      command: { ...commandOf(asked, 'applied'), orderId: 'ord/1' },
      replayed: false,
    });
    expect((await place()).body).toMatchObject({ orderId: 'ord/1', links: { order: '/v1/orders/account/ord%2F1' } });
  });

  it('carries what the account may still send', async () => {
    const { headers } = await place();
    expect([headers.get('ratelimit-policy'), headers.get('ratelimit')]).toEqual([
      '"account";q=10',
      '"account";r=7;t=2',
    ]);
  });
});

describe('the other commands', () => {
  it('hand on a place of a prediction order', async () => {
    await ask(`${rig.address}/v1/predictions/orders`, {
      method: 'POST',
      body: JSON.stringify({ ...predictionBody, clientOrderRef: 'mine' }),
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
    });
    expect(rig.commands.submissions[0]).toMatchObject({
      callerRef: 'mine',
      request: { kind: 'place', stream: 'prediction', terms: { quantity: '50', price: '0.42', outcome: 'YES' } },
    });
  });

  it('hand on a replace with the revision that it was decided on', async () => {
    const { status } = await ask(`${rig.address}/v1/predictions/orders/ord-9`, {
      method: 'PATCH',
      body: JSON.stringify({ accountId: 'ACC-1', quantity: '60', price: '0.5' }),
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k', 'if-match': '"12"' },
    });
    expect(status).toBe(200);
    expect(rig.commands.submissions[0]).toMatchObject({
      ifRevision: 12,
      request: {
        kind: 'replace',
        stream: 'prediction',
        accountId: 'ACC-1',
        orderId: 'ord-9',
        terms: { quantity: '60', price: '0.5' },
      },
    });
  });

  it('hand on a cancel of either stream', async () => {
    await cancel();
    await ask(`${rig.address}/v1/predictions/orders/ord-2?accountId=ACC-1`, {
      method: 'DELETE',
      headers: { 'idempotency-key': 'k' },
    });
    expect(rig.commands.submissions.map(({ request }) => request)).toEqual([
      { kind: 'cancel', stream: 'account', accountId: 'ACC-1', orderId: 'ord-1' },
      { kind: 'cancel', stream: 'prediction', accountId: 'ACC-1', orderId: 'ord-2' },
    ]);
  });
});

describe('If-Match', () => {
  it('of any revision is no condition', async () => {
    await cancel({ 'if-match': '*' });
    expect(rig.commands.submissions[0]).not.toHaveProperty('ifRevision');
  });

  it.each(['12', 'W/"12"', '"1", "2"', '"x"', '"0"', ''])(
    '%j is refused: it would be taken for something else',
    async (tag) => {
      const { status, body } = await cancel({ 'if-match': tag });
      expect([status, body['code']]).toEqual([400, 'INVALID_IF_MATCH']);
      expect(rig.commands.submissions).toEqual([]);
    },
  );
});

describe('Idempotency-Key', () => {
  it.each([undefined, '', 'a b', 'x'.repeat(129), 'ключ'])('%j is refused', async (key) => {
    const headers = {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': encoded(key) }),
    };
    const { status, body } = await ask(`${rig.address}/v1/orders`, {
      method: 'POST',
      headers,
      body: JSON.stringify(accountBody),
    });
    expect([status, body['code']]).toEqual([400, 'IDEMPOTENCY_KEY_REQUIRED']);
    expect(rig.commands.submissions).toEqual([]);
  });

  it('that is known gets the command as it is now, and says so', async () => {
    const command = sampleCommand({ state: 'applied' });
    rig.reads.commands = [{ command, evidence }];
    rig.commands.submitAnswer = () => ({ kind: 'journaled', command, replayed: true });
    const { status, headers, body } = await place();
    expect([status, headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(body).toMatchObject({ result: 'applied', evidence: [{ number: 1, kind: 'answer', code: 'accepted' }] });
  });

  it('that is new is not called a replay', async () => {
    expect((await place()).headers.get('idempotent-replayed')).toBeNull();
  });
});

/** Header values are bytes: what they stand for is the reader's matter. */
function encoded(text: string): string {
  return Buffer.from(text).toString('latin1');
}

describe('Prefer: wait', () => {
  it.each([
    ['wait=5', 5],
    ['respond-async, wait=5', 5],
    ['Wait = "5"', 5],
    ['wait=31', 30],
    ['wait=0', 0],
    ['wait=999999', 30],
  ])('%s asks for %i seconds, and is told so', async (prefer, seconds) => {
    const { headers } = await place({ prefer });
    expect(rig.commands.submissions[0]?.waitMs).toBe(seconds * 1000);
    expect(headers.get('preference-applied')).toBe(`wait=${seconds}`);
  });

  it.each(['wait=-1', 'wait=1.5', 'wait=x', 'wait', 'return=minimal'])(
    '%s is no preference that is known',
    async (prefer) => {
      const { status, headers } = await place({ prefer });
      expect([status, headers.get('preference-applied')]).toEqual([200, null]);
      expect(rig.commands.submissions[0]).not.toHaveProperty('waitMs');
    },
  );

  it('brings the evidence with the answer', async () => {
    const command = sampleCommand({ state: 'applied' });
    rig.reads.commands = [{ command, evidence }];
    rig.commands.submitAnswer = () => ({ kind: 'journaled', command, replayed: false });
    expect((await place({ prefer: 'wait=1' })).body).toMatchObject({ evidence: [{ code: 'accepted' }] });
  });

  it('answers without evidence when the database is away: the command is journaled all the same', async () => {
    rig.reads.failure = new Error('c4n4ry');
    const { status, body } = await place({ prefer: 'wait=1' });
    expect([status, body['result']]).toEqual([200, 'accepted']);
  });
});

describe('a command that is declined', () => {
  const message = 'a sentence for people';

  it.each(declineCodes.map((code) => [code, statusOf(code)] as const))(
    'with %s answers %i, and no command',
    async (code, expected) => {
      rig.commands.submitAnswer = () => ({ kind: 'declined', code, message });
      const { status, headers, body } = await place();
      expect(status).toBe(expected);
      expect(body).toMatchObject({ status: expected, code, retryable: expected === 503 || expected === 429 });
      expect(body).not.toHaveProperty('commandId');
      expect(headers.get('location')).toBeNull();
      expect(headers.get('retry-after')).toBe(expected === 503 || expected === 429 ? '1' : null);
    },
  );

  it.each([
    ['UNRESOLVED_PRIOR_COMMAND', /^Do not send it under another key: .* Its result will be at \/v1\/commands\//],
    [
      'IDEMPOTENCY_KEY_REUSED',
      /^The command of the key is at \/v1\/commands\/\S+\. Another request needs another key\.$/,
    ],
  ] as const)('because of another one with %s names that, and says what to do', async (code, advice) => {
    const prior = sampleCommand({ state: 'unknown' });
    rig.commands.submitAnswer = () => ({ kind: 'declined', code, message, prior });
    const { body } = await place();
    expect(body).toMatchObject({ code, detail: message, commandId: prior.commandId });
    expect(body['advice']).toMatch(advice);
  });

  it('because of one on an account that the token may not see names nothing of it', async () => {
    const token = 'a-static-token-of-one-account';
    const tokens = [{ name: 'desk', sha256: sha256(token), scopes, accounts: ['ACC-1'] }] as const;
    const other = await startRest({ auth: { tokens } });
    const seen = sampleCommand();
    const prior = { ...seen, request: { ...seen.request, accountId: 'ACC-2' } } as Command;
    other.commands.submitAnswer = () => ({ kind: 'declined', code: 'IDEMPOTENCY_KEY_REUSED', message, prior });
    const { status, body } = await ask(`${other.address}/v1/orders`, {
      method: 'POST',
      body: JSON.stringify(accountBody),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'k' },
    });
    await other.server.drain(new AbortController().signal);
    expect([status, body['commandId'], body['advice']]).toEqual([422, undefined, undefined]);
  });

  it('says when to come back, in whole seconds', async () => {
    rig.commands.submitAnswer = () => ({ kind: 'declined', code: 'RATE_LIMITED', message, retryAfterMs: 2100 });
    expect((await place()).headers.get('retry-after')).toBe('3');
  });

  it('for an order that it does not know says no more than for one of somebody else', async () => {
    rig.commands.submitAnswer = () => ({ kind: 'declined', code: 'ORDER_NOT_FOUND', message: 'ord-1 is on c4n4ry' });
    const { status, text } = await cancel();
    expect(status).toBe(404);
    expect(text).not.toContain('c4n4ry');
  });
});

describe('GET /v1/commands/{commandId}', () => {
  const unknown = sampleCommand({ state: 'unknown' });
  const show = (headers: Record<string, string> = {}) => ask(`${rig.address}/v1/commands/${commandId}`, { headers });

  it('tells attempts and evidence in one order of time', async () => {
    const facts = [
      { number: 1, kind: 'note', code: 'prepared', detail: {}, atMs: 1_700_000_000_000 },
      { number: 2, kind: 'answer', code: 'timeout', detail: { status: 504 }, atMs: 1_700_000_000_100 },
      { number: 3, kind: 'update', code: 'landed', detail: { revision: '1' }, atMs: 1_700_000_000_900 },
    ] as const;
    rig.reads.commands = [{ command: sampleCommand({ state: 'applied' }), evidence: facts }];
    const { status, body } = await show();
    expect(status).toBe(200);
    const timeline = body['timeline'] as { at: string; what: string; code?: string }[];
    expect(timeline.map(({ what, code }) => code ?? what)).toEqual([
      'prepared',
      'prepared',
      'sending',
      'timeout',
      'answered',
      'landed',
    ]);
    expect(timeline.map(({ at }) => at)).toEqual([...timeline.map(({ at }) => at)].sort());
    expect(body['evidence']).toHaveLength(3);
  });

  describe('the verdict computed again', () => {
    const landed = {
      number: 1,
      kind: 'update',
      code: 'landed',
      attemptId: sampleCommand().attempts[0]?.attemptId ?? '',
      detail: { stream: 'account', orderId: 'o-9', matches: true, revision: 1 },
      atMs: 1_700_000_000_900,
    } as const;
    const applied = sampleCommand({ state: 'applied', orderId: 'o-9' });
    const order = { orderId: 'o-9', clOrdId: landed.attemptId, quantity: '10', side: 'BUY' } as const;

    it('rests on the evidence and the updates of its order, and says by which rule', async () => {
      rig.reads.commands = [{ command: applied, evidence: [landed] }];
      rig.reads.addUpdate(order);
      const { body } = await show();
      expect(body['recomputed']).toEqual({
        ...{ state: 'applied', because: 'landed', agrees: true, complete: true },
        rule: 'an order that carries the reference of this command is there, and the venue has taken it',
      });
    });

    it('differs from a state that does not follow from the facts', async () => {
      rig.reads.commands = [{ command: { ...applied, state: 'rejected' }, evidence: [landed] }];
      rig.reads.addUpdate(order);
      expect((await show()).body).toMatchObject({
        state: 'rejected',
        recomputed: { state: 'applied', agrees: false, complete: true },
      });
    });

    it('is not complete where the log does not have the first updates any more, or has too many', async () => {
      rig.reads.commands = [{ command: applied, evidence: [landed] }];
      rig.reads.addUpdate({ ...order, revision: 7 });
      expect((await show()).body['recomputed']).toMatchObject({ state: 'applied', complete: false });
      rig.reads.updates = [];
      for (let revision = 1; revision <= 2_100; revision += 1) rig.reads.addUpdate({ ...order, revision });
      expect((await show()).body['recomputed']).toMatchObject({ state: 'applied', complete: false });
    });

    it('takes nothing from an order that the token may not see', async () => {
      rig.reads.commands = [
        { command: { ...applied, state: 'unknown' }, evidence: [{ ...landed, code: 'other_identity' }] },
      ];
      rig.reads.addUpdate({ ...order, accountId: 'ACC-2', orderId: 'o-8' });
      expect((await show()).body['recomputed']).toMatchObject({ state: 'conflict', because: 'other_identity' });
    });
  });

  it('says when and how the platform is asked next, where this process asks it', async () => {
    rig.reads.commands = [{ command: unknown, evidence: [] }];
    expect((await show()).body['nextProbe']).toBeUndefined();
    rig.commands.probe = { atMs: 1_700_000_015_000, by: 'account' };
    expect((await show()).body['nextProbe']).toEqual({ at: '2023-11-14T22:13:35.000Z', by: 'account' });
  });

  it('answers 202 while nobody knows its result', async () => {
    rig.reads.commands = [{ command: unknown, evidence: [] }];
    const { status, headers, body } = await show();
    expect([status, headers.get('retry-after'), body['result']]).toEqual([202, '1', 'unknown']);
    expect(rig.commands.waits).toEqual([]);
  });

  it('waits for news when asked to, and answers with what it then is', async () => {
    rig.reads.commands = [{ command: unknown, evidence: [] }];
    rig.commands.waitAnswer = async () => {
      rig.reads.commands = [{ command: sampleCommand({ state: 'applied' }), evidence: [] }];
      return undefined;
    };
    const { status, headers, body } = await show({ prefer: 'wait=20' });
    expect([status, headers.get('preference-applied'), body['result']]).toEqual([200, 'wait=20', 'applied']);
    expect(rig.commands.waits).toEqual([{ commandId, waitMs: 20_000 }]);
  });

  it('does not wait for what is final', async () => {
    rig.reads.commands = [{ command: sampleCommand({ state: 'rejected' }), evidence: [] }];
    await show({ prefer: 'wait=20' });
    expect(rig.commands.waits).toEqual([]);
  });

  it('is not found when there is none', async () => {
    expect(await show()).toMatchObject({ status: 404, body: { code: 'COMMAND_NOT_FOUND' } });
  });
});

describe('GET /v1/commands', () => {
  const ids = ['a', 'b', 'c'].map((letter) => commandId.replace('6d5c0f0e', letter.repeat(8)));

  it('lists them page by page', async () => {
    rig.reads.commands = ids.map((id) => ({ command: sampleCommand({ commandId: id }), evidence: [] }));
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await ask(`${rig.address}/v1/commands?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...(body['items'] as { commandId: string }[]).map((item) => item.commandId));
      cursor = (body['next'] as string | undefined) ?? '';
    } while (cursor !== '');
    expect(seen).toEqual(ids);
  });

  it('hands the filters on', async () => {
    const one: Command = sampleCommand({ state: 'unknown' });
    rig.reads.commands = [
      { command: one, evidence: [] },
      { command: sampleCommand({ commandId: ids[0] ?? '' }), evidence: [] },
    ];
    const { body } = await ask(`${rig.address}/v1/commands?state=unknown&kind=place&unresolved=true&accountId=ACC-1`);
    expect(body['items']).toMatchObject([{ commandId, result: 'unknown' }]);
  });
});

describe('what operators do', () => {
  const post = (path: string, body: object | undefined, headers: Record<string, string> = {}) =>
    ask(`${rig.address}${path}`, {
      method: 'POST',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        'x-request-id': 'req-1',
        ...headers,
      },
    });
  const word = { by: 'loopback', reason: 'because', requestId: 'req-1' };

  it('resolves a command by a person’s word', async () => {
    rig.reads.commands = [{ command: sampleCommand({ state: 'unknown' }), evidence: [] }];
    const path = `/v1/commands/${commandId}/resolution`;
    const { status, body } = await post(path, { result: 'applied', reason: ' because ' });
    expect([status, body['result']]).toEqual([200, 'applied']);
    expect(rig.commands.words).toEqual([{ what: 'resolve applied', on: commandId, word }]);
    rig.commands.resolveAnswer = { kind: 'declined', code: 'ALREADY_RESOLVED', message: 'it is resolved' };
    expect(await post(path, { result: 'applied', reason: 'because' })).toMatchObject({
      status: 409,
      body: { code: 'ALREADY_RESOLVED' },
    });
  });

  it.each([
    ['/v1/accounts/ACC-1/halt', 'halt', { kind: 'account', accountId: 'ACC-1' }],
    ['/v1/accounts/ACC-1/resume', 'resume', { kind: 'account', accountId: 'ACC-1' }],
    ['/v1/halt', 'halt', { kind: 'service' }],
    ['/v1/resume', 'resume', { kind: 'service' }],
  ])('%s says what is in force then', async (path, what, on) => {
    const halt = {
      haltId: 'h',
      scope: { kind: 'service' as const },
      cause: 'operator',
      reason: 'because',
      by: 'me',
      sinceMs: 0,
    };
    rig.commands.haltAnswer = { kind: 'done', halts: [halt] };
    const { status, body } = await post(path, { reason: 'because' });
    expect(status).toBe(200);
    expect(body).toEqual({
      halts: [
        {
          haltId: 'h',
          scope: { kind: 'service' },
          cause: 'operator',
          reason: 'because',
          by: 'me',
          since: '1970-01-01T00:00:00.000Z',
        },
      ],
      ...(what === 'resume' && { cleared: [] }),
      ...(what === 'halt' && on.kind === 'account' && { accountKnown: false }),
    });
    expect(rig.commands.words).toEqual([{ what, on, word }]);
  });

  it('is declined on an instance that stands by', async () => {
    rig.commands.haltAnswer = { kind: 'declined', code: 'NOT_LEADER', message: 'standing by' };
    const { status, headers, body } = await post('/v1/halt', { reason: 'because' });
    expect([status, body['code'], headers.get('retry-after')]).toEqual([503, 'NOT_LEADER', '1']);
  });

  it('cancels every order of an account, a command each', async () => {
    rig.commands.cancelAllAnswer = () => ({
      kind: 'done',
      replayed: true,
      inForce: true,
      open: true,
      places: [
        {
          accountId: 'ACC-1',
          stream: 'account',
          commandId,
          command: sampleCommand({ state: 'unknown' }),
          result: undefined,
        },
      ],
      unread: [{ accountId: 'ACC-1', stream: 'prediction', code: 'NOT_LIVE', message: 'its stream is not live' }],
      orders: [
        {
          accountId: 'ACC-1',
          stream: 'account',
          orderId: 'o-1',
          result: { kind: 'journaled', command: sampleCommand(), replayed: false },
        },
        {
          accountId: 'ACC-1',
          stream: 'account',
          orderId: 'o-2',
          result: { kind: 'declined', code: 'ORDER_CLOSED', message: 'over' },
        },
      ],
      declined: [],
    });
    expect(await post('/v1/accounts/ACC-1/cancel-all', { reason: 'because' })).toMatchObject({ status: 400 });
    const { status, body, headers } = await post(
      '/v1/accounts/ACC-1/cancel-all',
      { reason: 'because' },
      { 'idempotency-key': 'k' },
    );
    expect([status, headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(body).toMatchObject({
      open: true,
      inForce: true,
      places: [{ accountId: 'ACC-1', stream: 'account', commandId, result: 'unknown' }],
      unread: [{ accountId: 'ACC-1', stream: 'prediction', code: 'NOT_LIVE', detail: 'its stream is not live' }],
      orders: [
        { accountId: 'ACC-1', stream: 'account', orderId: 'o-1', commandId, result: 'accepted' },
        { accountId: 'ACC-1', orderId: 'o-2', code: 'ORDER_CLOSED' },
      ],
      declined: [],
    });
    const on = { kind: 'account', accountId: 'ACC-1' };
    expect(rig.commands.words).toEqual([
      { what: 'cancel-all', on, word: { ...word, onLanding: 'cancel', idempotencyKey: 'k' } },
    ]);
  });

  const nothingOpen = {
    kind: 'done' as const,
    ...{ replayed: false, inForce: false, open: false },
    ...{ orders: [], places: [], unread: [], declined: [] },
  };

  it('takes word that what lands is to be left, and no other', async () => {
    rig.commands.cancelAllAnswer = () => nothingOpen;
    const path = '/v1/accounts/ACC-1/cancel-all';
    await post(path, { reason: 'because', onLanding: 'leave' }, { 'idempotency-key': 'k' });
    expect(rig.commands.words).toMatchObject([{ word: { onLanding: 'leave' } }]);
    expect(await post(path, { reason: 'because', onLanding: 'keep' }, { 'idempotency-key': 'l' })).toMatchObject({
      status: 400,
    });
  });

  it('takes what selects the orders, in the platform’s case, and no field that it does not know', async () => {
    rig.commands.cancelAllAnswer = () => nothingOpen;
    const path = '/v1/accounts/ACC-1/cancel-all';
    const only = { symbol: 'AAPL', side: 'buy', principal: 'robot', reference: 'grid-7' };
    const key = { 'idempotency-key': 'k' };
    const { status, body } = await post(path, { reason: 'because', ...only, symbol: 'aapl' }, key);
    expect([status, body]).toMatchObject([200, { open: false, orders: [], places: [] }]);
    await post('/v1/cancel-all', { reason: 'because', side: 'sell' }, key);
    expect(rig.commands.words.map(({ on }) => on)).toMatchObject([
      { kind: 'account', accountId: 'ACC-1', only },
      { kind: 'service', only: { side: 'sell' } },
    ]);
    for (const wrong of [{ side: 'BUY_TO_COVER' }, { symbol: '' }, { symbols: ['AAPL'] }, { reference: '' }])
      expect(await post(path, { reason: 'because', ...wrong }, key)).toMatchObject({ status: 400 });
    expect((await post(path, { reason: 'because', symbols: ['AAPL'] }, key)).body).toMatchObject({
      code: 'UNKNOWN_FIELD',
    });
    expect(rig.commands.words).toHaveLength(2);
  });

  it('cancels every order of every account, and tells which account refused', async () => {
    const row = { isSim: true, openOrders: 1 };
    rig.reads.accountRows = [
      { stream: 'account', accountId: 'ACC-1', ...row },
      { stream: 'prediction', accountId: 'ACC-1', ...row },
      { stream: 'account', accountId: 'ACC-2', ...row },
    ];
    const declined = [{ accountId: 'ACC-2', code: 'ACCOUNT_NOT_TRADED', message: 'not listed' }];
    rig.commands.cancelAllAnswer = () => ({ ...nothingOpen, open: true, declined });
    const { body } = await post('/v1/cancel-all', { reason: 'because' }, { 'idempotency-key': 'k' });
    const told = [{ accountId: 'ACC-2', code: 'ACCOUNT_NOT_TRADED', detail: 'not listed' }];
    expect(body).toEqual({ open: true, inForce: false, orders: [], places: [], unread: [], declined: told });
    expect(rig.commands.words.map(({ on }) => on)).toEqual([{ kind: 'service', accountIds: ['ACC-1', 'ACC-2'] }]);
  });

  it('declines a cancel-all as a whole, and tells a key that belongs to another one', async () => {
    rig.commands.cancelAllAnswer = () => ({ kind: 'declined', code: 'IDEMPOTENCY_KEY_REUSED', message: 'used' });
    const { status, body } = await post('/v1/cancel-all', { reason: 'because' }, { 'idempotency-key': 'k' });
    expect([status, body['code']]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  });

  it('probes, or says what it would read', async () => {
    expect((await post('/v1/probe?dryRun=true&accountId=ACC-1', undefined)).body).toEqual({
      unresolved: 0,
      probes: 0,
      resolved: [],
      plan: [],
    });
    await post('/v1/probe', undefined);
    expect(rig.commands.probed).toEqual([{ dryRun: true, accountId: 'ACC-1' }, { dryRun: false }]);
  });
});

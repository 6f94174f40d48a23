import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Scope, scopes } from '../../../src/service/rest/auth/principal.ts';
import type { Route } from '../../../src/service/rest/route.ts';
import { routeTable } from '../../../src/service/rest/route-table.ts';
import { commandId, sampleCommand } from '../../support/commands/scripted-commands.ts';
import { jobId, sampleRow } from '../../support/orders/memory-dead-letters.ts';
import { type Answered, ask, sha256, startIssuer, startRest } from '../../support/rest/rest-rig.ts';
import { sampleRequest } from '../../support/rest/route-samples.ts';

const everything = 'static-token-with-everything';
const onlyOther = 'static-token-of-another-account';

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let rig: Awaited<ReturnType<typeof startRest>>;

beforeAll(async () => {
  issuer = await startIssuer();
  rig = await startRest({
    auth: {
      jwt: issuer.jwt,
      tokens: [
        { name: 'desk', sha256: sha256(everything), scopes, accounts: 'all' },
        { name: 'other-desk', sha256: sha256(onlyOther), scopes, accounts: ['ACC-2'] },
      ],
    },
  });
  rig.reads.addUpdate();
  rig.reads.commands = [{ command: sampleCommand(), evidence: [] }];
  rig.reads.accountRows = [{ stream: 'account', accountId: 'ACC-1', isSim: true, openOrders: 1 }];
  const exposed = { openOrders: 1, openQuantity: '60', unresolvedCommands: 0, unresolvedQuantity: '0' };
  rig.reads.exposureRows = [{ accountId: 'ACC-1', stream: 'account', symbol: 'AAPL', side: 'buy', ...exposed }];
  rig.commands.inForce = [
    {
      haltId: 'h-1',
      scope: { kind: 'account', accountId: 'ACC-1' },
      cause: 'operator',
      reason: 'a',
      by: 'b',
      sinceMs: 0,
    },
  ];
});

afterAll(async () => {
  await rig.server.drain(new AbortController().signal);
  await issuer.stop();
});

beforeEach(() => {
  rig.commands.submissions.length = 0;
  rig.commands.words.length = 0;
  rig.commands.probed.length = 0;
  rig.deadLetters.actions.length = 0;
  rig.deadLetters.rows = [sampleRow()];
  rig.repairs.asked.length = 0;
});

async function send(route: Route, token?: string, ids?: Readonly<Record<string, string>>): Promise<Answered> {
  const { path, init } = sampleRequest(route, {
    ...(token === undefined ? {} : { token }),
    ...(ids === undefined ? {} : { ids }),
  });
  if (route.tag !== 'stream') return ask(`${rig.address}${path}`, init);
  // A stream that is let in does not end by itself.
  const response = await fetch(`${rig.address}${path}`, init);
  const open = response.status === 200;
  const text = open ? '' : await response.text();
  if (open) await response.body?.cancel();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

function expectNothingDone(): void {
  const { submissions, words, probed } = rig.commands;
  expect([submissions, words, probed, rig.deadLetters.actions, rig.repairs.asked]).toEqual([[], [], [], [], []]);
}

const routes = routeTable.map((route) => [`${route.method} ${route.path}`, route] as const);
const guarded = routes.filter(([, { scopes: needed }]) => needed !== 'public');
const open = routes.filter(([, { scopes: needed }]) => needed === 'public');
const now = () => Math.floor(Date.now() / 1000);

/** Every way in which a token can be no token for us. */
const badTokens: readonly (readonly [string, () => Promise<string> | string])[] = [
  ['an expired token', () => issuer.sign({ exp: now() - 31 })],
  ['a token without exp', () => issuer.sign({ exp: undefined })],
  ['a token of another audience', () => issuer.sign({ aud: 'somebody-else' })],
  ['a token without audience', () => issuer.sign({ aud: undefined })],
  ['a token of another issuer', () => issuer.sign({ iss: 'https://evil.example' })],
  ['a token that is not said to be an access token', () => issuer.sign({}, { typ: 'JWT' })],
  ['a token without typ', () => issuer.sign({}, { typ: undefined })],
  ['an ID token', () => issuer.sign({ nonce: 'n', at_hash: 'h' }, { typ: 'JWT' })],
  ['a token without sub', () => issuer.sign({ sub: undefined })],
  ['a token that is not valid yet', () => issuer.sign({ nbf: now() + 60 })],
  ['a token signed with alg none', () => issuer.unsigned()],
  ['a token signed with another key', () => issuer.signWithOtherKey()],
  ['a token whose kid is a path', () => issuer.sign({}, { kid: '../../../../dev/null' })],
  ['a token that was changed', async () => (await issuer.sign()).replace(/\.[^.]{10}/, '.eyJzdWIiOi')],
  ['a static token that nobody has', () => 'static-token-that-nobody-has'],
  ['no token but the word', () => ''],
];

describe.each(guarded)('%s', (_name, route) => {
  const needed = route.scopes as readonly Scope[];

  it('answers 401 without a token', async () => {
    const { status, headers, body } = await send(route);
    expect([status, body['code'], headers.get('www-authenticate')]).toEqual([401, 'UNAUTHENTICATED', 'Bearer']);
    expectNothingDone();
  });

  it.each(badTokens)('answers 401 to %s', async (_what, token) => {
    const { status, headers, body } = await send(route, await token());
    expect([status, body['code'], body['retryable']]).toEqual([401, 'INVALID_TOKEN', false]);
    expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    expectNothingDone();
  });

  it('answers 403 to a token with every scope but its own', async () => {
    const others = scopes.filter((scope) => !needed.includes(scope));
    const { status, headers, body } = await send(route, await issuer.sign({ scope: others.join(' ') }));
    expect([status, body['code']]).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(headers.get('www-authenticate')).toContain(`scope="${needed.join(' ')}"`);
    expectNothingDone();
  });

  it.each(needed)('is open to a token with %s', async (scope) => {
    expect((await send(route, await issuer.sign({ scope }))).status).toBe(admitted(route));
  });

  it('is open to a static token', async () => {
    expect((await send(route, everything)).status).toBe(admitted(route));
  });

  it('shows and does nothing of an account that the token does not name', async () => {
    for (const token of [
      await issuer.sign({ accounts: ['ACC-2'] }),
      await issuer.sign({ accounts: undefined }),
      onlyOther,
    ]) {
      const answer = await send(route, token);
      expect(answer.text).not.toContain('ACC-1');
      expect(answer.text).not.toContain('ord-1');
      expect(answer.status).toBe(expectedForForeign(route));
      expectNothingDone();
    }
  });

  it('tells who may not see it the same as if it did not exist', async () => {
    if (expectedForForeign(route) !== 404) return;
    const token = await issuer.sign({ accounts: ['ACC-2'] });
    const unknown = {
      orderId: 'no-such-order',
      accountId: 'NO-SUCH-ACC',
      commandId: commandId.replace('6d5c', '0000'),
      approvalId: commandId,
      jobId: jobId.replace('7a1f', '0000'),
      rowId: '18',
    };
    const [foreign, missing] = [await send(route, token), await send(route, token, unknown)];
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...missing.body, requestId: '' });
    expect(foreign.status).toBe(missing.status);
  });
});

/** The first answer of its table: 202 where the work is only written down. */
function admitted({ answers }: Route): number {
  return Number(Object.keys(answers)[0]);
}

/** By what the route is about: one thing of the account, a list, or every account. */
function expectedForForeign({ path, method, tag, operationId }: Route): number {
  if (operationId === 'cancelAfter' || operationId === 'openDeadLetterJob') return 404;
  if (path === '/v1/limits' && method === 'PATCH') return 404;
  if (/\{(accountId|orderId|commandId|approvalId|jobId|rowId)\}/.test(path) || (tag === 'orders' && method === 'POST'))
    return 404;
  return method === 'GET' ? 200 : 403;
}

describe.each(open)('%s', (_name, route) => {
  it('needs no token', async () => {
    expect((await send(route)).status).toBe(200);
  });

  it.each(badTokens)('answers 401 to %s all the same', async (_what, token) => {
    expect((await send(route, await token())).status).toBe(401);
  });

  it('is open to any good token', async () => {
    expect((await send(route, await issuer.sign({ scope: '' }))).status).toBe(200);
  });
});

describe('an account in a parameter', () => {
  it.each(['/v1/orders', '/v1/commands', '/v1/exposure', '/v1/stream', '/v1/dead-letters'])(
    'of %s is not found when it is not of the token',
    async (path) => {
      const answers = [];
      for (const account of ['ACC-1', 'NO-SUCH-ACC']) {
        const { status, body } = await ask(`${rig.address}${path}?accountId=${account}`, {
          headers: { authorization: `Bearer ${onlyOther}` },
        });
        answers.push({ status, code: body['code'], detail: body['detail'] });
      }
      expect(answers[0]).toMatchObject({ status: 404, code: 'ACCOUNT_NOT_FOUND' });
      expect(answers[0]).toEqual(answers[1]);
    },
  );
});

describe('failed sign-ins', () => {
  it('are counted by their reason', async () => {
    const before = await failures('expired');
    await ask(`${rig.address}/v1/orders`, {
      headers: { authorization: `Bearer ${await issuer.sign({ exp: now() - 31 })}` },
    });
    expect(await failures('expired')).toBe(before + 1);
  });
});

async function failures(reason: string): Promise<number> {
  const { values } = await rig.metrics.rest.authFailures.get();
  return values.find(({ labels }) => labels.reason === reason)?.value ?? 0;
}

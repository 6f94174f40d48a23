import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { parseStaticTokens } from '../../../src/config/option.ts';
import { isReservedName } from '../../../src/domain/reserved-name.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { SharedClock } from '../../../src/runtime/shared-clock.ts';
import { JwtVerifier } from '../../../src/service/rest/auth/jwt-verifier.ts';
import { scopes } from '../../../src/service/rest/auth/principal.ts';
import { StaticTokens } from '../../../src/service/rest/auth/static-tokens.ts';
import { routeTable } from '../../../src/service/rest/route-table.ts';
import type { PrincipalToken } from '../../../src/store/principals.ts';
import { sampleCommand } from '../../support/commands/scripted-commands.ts';
import { sampleRow } from '../../support/orders/memory-dead-letters.ts';
import { startAdmin } from '../../support/rest/admin-rig.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { EventReader } from '../../support/rest/event-reader.ts';
import { ask, sha256, startIssuer, startRest } from '../../support/rest/rest-rig.ts';
import { sampleRequest } from '../../support/rest/route-samples.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { testLines } from '../../support/runs/test-lines.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';
import { sendRaw } from '../../support/servers/raw-socket.ts';

describe('issue: A write that was refused for missing rights was in no audit trail.', () => {
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
});

describe('issue: An ID token of the issuer was accepted as an access token.', () => {
  const stops: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  /**
   * The status of a call by a token of this header and these claims,
   * beside those that let a caller do everything.
   */
  async function statusOf(
    typ: 'at+jwt' | 'jwt',
    header: Record<string, unknown>,
    claims: Record<string, unknown> = {},
  ): Promise<number> {
    const issuer = await startIssuer();
    stops.push(issuer.stop);
    const rig = await startRest({ auth: { jwt: { ...issuer.jwt, typ } } });
    stops.push(() => rig.server.drain(AbortSignal.abort()));
    const authorization = `Bearer ${await issuer.sign(claims, header)}`;
    return (await ask(`${rig.address}/v1/orders`, { headers: { authorization } })).status;
  }

  // Whatever the issuer had signed for our audience was taken for
  // an access token: `typ` was not read.
  it.each([
    ['at+jwt', 200, 200],
    ['AT+JWT', 200, 200],
    ['application/at+jwt', 200, 200],
    ['JWT', 401, 200],
    [undefined, 401, 200],
    ['logout+jwt', 401, 401],
    ['secevent+jwt', 401, 401],
    ['dpop+jwt', 401, 401],
  ])('a token of typ %s is answered with %i, and with %i where JWT is taken too', async (typ, strict, lax) => {
    expect(await statusOf('at+jwt', { typ })).toBe(strict);
    expect(await statusOf('jwt', { typ })).toBe(lax);
  });

  it.each(['nonce', 'at_hash', 'c_hash'])(
    'an ID token, known by its %s, is refused where typ does not tell',
    async (claim) => {
      expect(await statusOf('jwt', { typ: 'JWT' }, { [claim]: 'x' })).toBe(401);
    },
  );
});

describe('issue: Ten minutes after the token issuer went away, every caller got 503, also for cancels.', () => {
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  async function withIssuer() {
    const issuer = await startIssuer();
    stops.push(() => issuer.stop());
    const clock = new VirtualClock();
    const rig = await startRest({ clock, auth: { jwt: issuer.jwt } });
    stops.push(() => rig.server.drain(AbortSignal.abort()));
    const reads = async (result: string) => {
      const { values } = await rig.metrics.rest.issuerKeyReads.get();
      return values.find(({ labels }) => labels.result === result)?.value ?? 0;
    };
    const halt = (token: string) =>
      ask(`${rig.address}/v1/halt`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{"reason":"stop"}',
      });
    /** Until the keys were read once more, with whatever result. */
    const nextRead = async (result: string) => {
      const before = await reads(result);
      await eventually(async () => {
        await clock.advance(5_000);
        expect(await reads(result)).toBeGreaterThan(before);
      });
    };
    return { issuer, clock, rig, reads, halt, nextRead };
  }

  // The keys were forgotten after ten minutes, and then every caller got
  // 503: those who wanted out of the market too.
  it('a token whose key was read before halts and cancels for as long as the issuer is away', async () => {
    const { issuer, clock, reads, halt, nextRead } = await withIssuer();
    const token = await issuer.sign();
    expect((await halt(token)).status).toBe(200);
    issuer.answers.status = 500;
    await nextRead('failed');
    for (let hours = 0; hours < 2; hours += 1) {
      await clock.advance(3_600_000);
      expect((await halt(token)).status).toBe(200);
    }
    expect(await reads('failed')).toBeGreaterThan(0);
    const newer = await halt(await issuer.sign({}, { kid: 'made-during-the-outage' }));
    expect([newer.status, newer.body['code']], 'a key that nobody here has seen').toEqual([503, 'AUTH_UNAVAILABLE']);
    expect((await halt(await issuer.signWithOtherKey())).status, 'forged').toBe(401);

    issuer.answers.status = 200;
    await nextRead('ok');
    expect((await halt(token)).status).toBe(200);
  });

  it('an answer without a key takes none away', async () => {
    const { issuer, halt, nextRead } = await withIssuer();
    const token = await issuer.sign();
    expect((await halt(token)).status).toBe(200);
    issuer.answers.keys = [];
    await nextRead('failed');
    expect((await halt(token)).status).toBe(200);
  });

  it('a key that the issuer has taken back ends its tokens and their streams within a minute', async () => {
    const { issuer, clock, rig, halt, nextRead } = await withIssuer();
    const token = await issuer.sign();
    const reader = await EventReader.open(`${rig.address}/v1/stream`, { authorization: `Bearer ${token}` });
    stops.push(() => reader.close());
    expect(reader.status).toBe(200);
    issuer.answers.keys = issuer.answers.keys.map((key) => ({ ...key, kid: 'two' }));
    await nextRead('ok');
    expect((await halt(token)).status).toBe(401);
    await eventually(async () => {
      await clock.advance(1_000);
      expect(reader.events).toEqual([{ event: 'shutdown', id: '0', data: '{"reason":"token_revoked"}' }]);
    });
  });
});

describe('issue: Every token of Auth0 was refused, because its issuer ends in a slash.', () => {
  const stops: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  /**
   * The status of a call with a token of the issuer `iss`, at a
   * server that was told `TIDEMARK_AUTH_ISSUER`.
   */
  async function statusWith(configured: string, iss: string): Promise<number> {
    const issuer = await startIssuer();
    stops.push(issuer.stop);
    const { jwksUrl, audience } = issuer.jwt;
    const env = { TIDEMARK_AUTH_ISSUER: configured, TIDEMARK_AUTH_AUDIENCE: audience, TIDEMARK_AUTH_JWKS_URL: jwksUrl };
    const loaded = loadConfig(env, () => '', ['authIssuer']);
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
    const rig = await startRest({ auth: { jwt: { ...issuer.jwt, issuer: loaded.config.authIssuer } } });
    stops.push(() => rig.server.drain(new AbortController().signal));
    const { status } = await ask(`${rig.address}/v1/orders`, {
      headers: { authorization: `Bearer ${await issuer.sign({ iss })}` },
    });
    return status;
  }

  // Auth0 and version 1 of Azure end their `iss` in a slash, and `iss` is compared to the letter.
  it.each([
    ['https://tenant.auth0.example/', 'https://tenant.auth0.example/', 200],
    ['https://id.example', 'https://id.example', 200],
    ['https://id.example', 'https://id.example/', 401],
    ['https://id.example/', 'https://id.example', 401],
  ])('configured as %s, a token of %s is answered with %i', async (configured, iss, status) => {
    expect(await statusWith(configured, iss)).toBe(status);
  });
});

describe('issue: Every token was refused while the issuer published two keys without ids.', async () => {
  const stops: (() => void)[] = [];
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
  });

  const issuer = 'https://id.example';
  const audience = 'tidemark';
  const pairs = await Promise.all(Array.from({ length: 3 }, () => generateKeyPair('ES256')));
  const keys = await Promise.all(
    pairs.map(async ({ publicKey }) => ({ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig' })),
  );

  /** A token of an hour, signed by the key of this number. */
  function signedBy(
    at: number,
    claims: Record<string, unknown> = {},
    header: Record<string, unknown> = {},
  ): Promise<string> {
    const key = pairs[at]?.privateKey;
    if (key === undefined) throw new Error('no such key');
    const now = Math.floor(clock.nowMs() / 1000);
    return new SignJWT({
      iss: issuer,
      aud: audience,
      sub: 'ann',
      exp: now + 3600,
      scope: 'orders:read',
      accounts: ['*'],
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header })
      .sign(key);
  }

  async function verifierOf(published: readonly JWK[]) {
    const http = createServer((_request, response) => response.end(JSON.stringify({ keys: published })));
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    stops.push(() => http.close());
    const jwksUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}/keys`;
    const { log, lines } = testLines();
    const deps = { fetch, clock, log, metrics: createMetrics().rest };
    const verifier = new JwtVerifier(deps, { issuer, audience, jwksUrl, algorithms: ['ES256'], typ: 'at+jwt' });
    return { verifier, lines, jwksUrl };
  }

  describe('an issuer whose keys have no ids', () => {
    it.each<[string, readonly JWK[], Record<string, unknown>]>([
      ['of several keys without ids', keys.slice(0, 2), {}],
      ['of several keys without ids, where the token names one', keys.slice(0, 2), { kid: 'one' }],
      ['of one key without an id, where the token names one', keys.slice(1, 2), { kid: 'one' }],
      ['of several keys with the same id', keys.slice(0, 2).map((key) => ({ ...key, kid: 'one' })), { kid: 'one' }],
      [
        'of several keys with ids, where the token names none',
        keys.slice(0, 2).map((key, at) => ({ ...key, kid: `${at}` })),
        {},
      ],
      [
        'of keys with and without ids',
        [{ ...(keys[0] ?? {}), kid: 'other' }, ...keys.slice(1)] as JWK[],
        { kid: 'one' },
      ],
    ])('has its callers let in by a set %s, and nobody else', async (_what, published, header) => {
      const { verifier } = await verifierOf(published);
      expect(await verifier.verify(await signedBy(1, {}, header))).toMatchObject({ kind: 'principal' });
      // The claims are judged by the key that signed.
      expect(await verifier.verify(await signedBy(1, { aud: 'other' }, header))).toMatchObject({ reason: 'claims' });
      expect(await verifier.verify(await signedBy(1, { exp: 1 }, header))).toMatchObject({ reason: 'expired' });
      if (published.length === 2)
        expect(await verifier.verify(await signedBy(2, {}, header))).toMatchObject({ reason: 'signature' });
    });
  });

  /**
   * A caller was refused for a wrong audience, and nothing said which one was found or expected.
   */
  describe('a token that is refused', () => {
    const late = Math.floor(clock.nowMs() / 1000) + 7200;
    it.each<[string, Record<string, unknown>, Record<string, unknown>, object]>([
      ['its audience', { aud: 'other' }, {}, { claim: 'aud', found: '"other"', expected: audience }],
      [
        'its issuer',
        { iss: 'https://evil.example' },
        {},
        { claim: 'iss', found: '"https://evil.example"', expected: issuer },
      ],
      ['its end', { exp: 1 }, {}, { claim: 'exp', found: '1', expected: 'later than now' }],
      ['its missing end', { exp: undefined }, {}, { claim: 'exp', found: 'missing' }],
      ['its beginning', { nbf: late }, {}, { claim: 'nbf', found: String(late) }],
      ['its subject', { sub: 'a b' }, {}, { claim: 'sub', found: '"a b"' }],
      ['its kind', {}, { typ: 'JWT' }, { claim: 'typ', found: '"JWT"', expected: 'at+jwt' }],
      ['its length of text', { aud: 'x'.repeat(5_000) }, {}, { claim: 'aud', expected: audience }],
    ])('has the reason in the log, without the token: %s', async (_what, claims, header, said) => {
      const { verifier, lines } = await verifierOf([{ ...(keys[0] ?? {}), kid: 'one' } as JWK]);
      const token = await signedBy(0, claims, { kid: 'one', ...header });
      for (let times = 0; times < 50; times += 1) expect((await verifier.verify(token)).kind).toBe('refused');
      expect(lines()).toMatchObject([{ level: 'warn', msg: 'a bearer JWT was refused', times: 1, ...said }]);
      const text = JSON.stringify(lines());
      for (const part of token.split('.')) expect(text).not.toContain(part);
      expect(text.length).toBeLessThan(1_500);
    });

    it('has its signature and its algorithm there as well', async () => {
      const { verifier, lines, jwksUrl } = await verifierOf([{ ...(keys[0] ?? {}), kid: 'one' } as JWK]);
      await verifier.verify(await signedBy(1, {}, { kid: 'one' }));
      await verifier.verify(await signedBy(1, {}, { kid: 'two' }));
      await verifier.verify(`${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`);
      expect(lines()).toMatchObject([
        { reason: 'signature', claim: 'signature', expected: `of a key of ${jwksUrl}`, header: { kid: '"one"' } },
        { reason: 'signature', claim: 'kid', expected: `a key of ${jwksUrl}`, header: { kid: '"two"' } },
        { header: { alg: '"none"' } },
      ]);
    });
  });
});

describe("issue: Every token was refused while the issuer's key set had an entry that is no key.", async () => {
  const stops: (() => void)[] = [];
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
  });

  const issuer = 'https://id.example';
  const audience = 'tidemark';
  const pair = await generateKeyPair('ES256');
  const good = { ...(await exportJWK(pair.publicKey)), alg: 'ES256', use: 'sig' };

  function token(kid: string | undefined): Promise<string> {
    const exp = Math.floor(clock.nowMs() / 1000) + 3600;
    return new SignJWT({ iss: issuer, aud: audience, sub: 'ann', exp, scope: 'orders:read', accounts: ['*'] })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...(kid !== undefined && { kid }) })
      .sign(pair.privateKey);
  }

  async function verifierOf(keys: readonly unknown[]) {
    const http = createServer((_request, response) => response.end(JSON.stringify({ keys })));
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    stops.push(() => http.close());
    const jwksUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}/keys`;
    const deps = { fetch, clock, log: testLines().log, metrics: createMetrics().rest };
    return new JwtVerifier(deps, { issuer, audience, jwksUrl, algorithms: ['ES256'], typ: 'at+jwt' });
  }

  it.each<[string, readonly unknown[]]>([
    ['nothing', [null]],
    ['a text', ['key']],
    ['a number and a list', [7, []]],
    ['a key of a kind that is not known', [{ kty: 'PQ', kid: 'one', alg: 'ML-DSA-65' }]],
    ['a key without its numbers', [{ kty: 'EC', crv: 'P-256', alg: 'ES256' }]],
    ['a shared secret', [{ kty: 'oct', k: 'c2VjcmV0', kid: 'one' }]],
    ['a key of a word for `use` that is not known', [{ ...good, use: 'enc', kid: 'other' }]],
    ['a key with an unknown operation', [{ ...good, key_ops: ['wrapKey'], kid: 'other' }]],
  ])('%s in a set stands in the way of no other key', async (_what, odd) => {
    for (const keys of [
      [...odd, good],
      [good, ...odd],
    ])
      for (const kid of [undefined, 'mine'])
        expect(await (await verifierOf(keys)).verify(await token(kid))).toMatchObject({ kind: 'principal' });
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['empty', ''],
    ['a number', 7],
  ])('a key whose id is %s may belong to any token', async (_what, kid) => {
    for (const named of [undefined, 'mine'])
      expect(await (await verifierOf([{ ...good, kid }])).verify(await token(named))).toMatchObject({
        kind: 'principal',
      });
  });

  it('a set without a single key is an answer that failed', async () => {
    const verifier = await verifierOf([null, 'key']);
    expect(await verifier.verify(await token(undefined))).toEqual({ kind: 'unavailable' });
  });
});

describe("issue: A web page of another site could send commands to the service through a user's browser.", () => {
  const stops: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  async function rest() {
    const rig = await startRest();
    stops.push(() => rig.server.drain(new AbortController().signal));
    return rig;
  }

  // One for all pages that get nothing done: what one of them did would fail every later test too.
  let untouched: Awaited<ReturnType<typeof startRest>>;
  beforeAll(async () => {
    untouched = await startRest();
  });
  afterAll(() => untouched.server.drain(new AbortController().signal));

  const unsafe = routeTable
    .filter(({ method }) => method !== 'GET')
    .map((route) => [route.operationId, route] as const);

  /**
   * The request as a browser sends it for a page, which may leave
   * these headers out and can't change them.
   */
  const foreign: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['of another port of this machine', { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:3000' }],
    ['of another site in an older browser', { origin: 'https://evil.example' }],
    ['of another port in an older browser', { origin: 'http://127.0.0.1:3000' }],
    ['without an origin that can be named', { origin: 'null' }],
  ];

  describe.each(unsafe)('%s', (_name, route) => {
    it.each(foreign)('does nothing for a page %s', async (_page, headers) => {
      const { address, commands } = untouched;
      const { path, init } = sampleRequest(route, { headers });
      const { status, body } = await ask(`${address}${path}`, init);
      expect([status, body['code']]).toEqual([403, 'CROSS_SITE_REQUEST']);
      expect([commands.submissions, commands.words, commands.probed]).toEqual([[], [], []]);
    });

    it.each<[string, (address: string) => Readonly<Record<string, string>>]>([
      ['a page of our own', (address) => ({ 'sec-fetch-site': 'same-origin', origin: address })],
      ['a page of our own in an older browser', (address) => ({ origin: address })],
      ['programs', () => ({})],
    ])('is open to %s', async (_caller, headersFor) => {
      const { address, reads, deadLetters } = await rest();
      reads.commands = [{ command: sampleCommand(), evidence: [] }];
      deadLetters.rows = [sampleRow()];
      const { path, init } = sampleRequest(route, { headers: headersFor(address) });
      // 202: the work is written down, and done later.
      expect([200, 202]).toContain((await ask(`${address}${path}`, init)).status);
    });
  });

  describe('the admin port', () => {
    const get = (address: string, path: string, host: string) =>
      sendRaw(address, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);

    it.each(['/status', '/metrics', '/readyz?verbose', '/livez', '/none'])(
      'does not answer %s to a page whose name was made to resolve here',
      async (path) => {
        const address = await startAdmin(stops);
        for (const host of ['evil.example', 'evil.example:9464', 'localhost.evil.example', '10.0.0.1'])
          expect(await get(address, path, host)).toMatch(/^HTTP\/1\.1 421 .*HOST_NOT_NAMED/s);
      },
    );

    it('answers to loopback names, to the address that it was reached at, and to the names that are configured', async () => {
      const address = await startAdmin(stops, { host: '0.0.0.0', names: ['tidemark', 'desk.example'] });
      for (const host of ['localhost', '127.0.0.1:9464', '[::1]', 'TIDEMARK:9464', 'desk.example'])
        expect(await get(address, '/livez', host)).toMatch(/^HTTP\/1\.1 200 /);
      expect(await get(address, '/livez', 'evil.example')).toMatch(/^HTTP\/1\.1 421 /);
    });

    it('answers to the name that it listens on', async () => {
      const address = await startAdmin(stops, { host: 'localhost' });
      expect(await get(address, '/livez', `localhost:${new URL(address).port}`)).toMatch(/^HTTP\/1\.1 200 /);
    });
  });
});

describe('issue: A principal could be named `tidemark`, and its halts looked like those of the service.', () => {
  describe.each(['tidemark', 'Tidemark', 'TIDEMARK', 'loopback', 'Loopback'])('a principal %s', (name) => {
    it('gets no token', async () => {
      const io = cliIo({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
      await runProgram(io, ['token', 'add', name, '--scopes', 'orders:read', '--all-accounts']);
      expect([io.code(), io.out()]).toEqual([64, '']);
      expect(io.err()).toContain('principal');
    });

    it('is no configured one', () => {
      expect(parseStaticTokens(`${name}:${'0'.repeat(64)}:orders:read:*`)).toEqual({ wrong: 1, count: 1 });
    });

    it('does not come in by a row of the database', async () => {
      const row = { sha256: sha256('t'), scopes: ['orders:read'], accounts: 'all' as const };
      const active = async () => [
        { ...row, name },
        { ...row, name: 'tidemark-desk', sha256: sha256('u') },
      ];
      const tokens = new StaticTokens(
        { clock: new VirtualClock(), log: silentLog, store: { active } },
        { configured: [], refreshEveryMs: 1_000 },
      );
      await tokens.start();
      expect(tokens.find('t')).toBeUndefined();
      expect(tokens.find('u')).toMatchObject({ name: 'tidemark-desk' });
      tokens.stop();
    });
  });

  it('every name under which the service writes an action is one that no principal can have', () => {
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const words = files
      .filter((file) => !/^(?:sandbox|console|service\/rest\/documents|demo)\//.test(file))
      .flatMap((file) =>
        [...readFileSync(`src/${file}`, 'utf8').matchAll(/(?:\bby(?:: | = )|principalOf\()'([^']+)'/g)].map(
          ([, word = '']) => word,
        ),
      )
      // Words for what a probe asked by, and for the position of a page.
      .filter((word) => !['reference', 'order', 'account', 'kafka', 'postgres', 'after'].includes(word));
    expect(words.length).toBeGreaterThan(2);
    // A name with a blank is none that a token can have.
    expect(words.filter((word) => !word.includes(' ') && !isReservedName(word))).toEqual([]);
  });
});

describe('issue: A reader with a revoked token got events for up to an hour more.', () => {
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  const token: PrincipalToken = { name: 'desk', sha256: sha256('t'), scopes: ['orders:read'], accounts: ['ACC-1'] };

  async function reading(first: readonly PrincipalToken[]) {
    const clock = new VirtualClock();
    const stored = { tokens: first, away: false };
    const active = async () => {
      if (stored.away) throw new Error('away');
      return stored.tokens;
    };
    const rig = await startRest({ clock, principals: { active } });
    stops.push(() => rig.server.drain(AbortSignal.abort()));
    const reader = await EventReader.open(`${rig.address}/v1/stream`, { authorization: 'Bearer t' });
    stops.push(() => reader.close());
    expect(reader.status).toBe(200);
    const lastWords = async () => {
      await reader.untilEnded();
      return reader.events;
    };
    return { clock, stored, rig, reader, lastWords };
  }

  const shutdown = (reason: string) => [{ event: 'shutdown', id: '0', data: `{"reason":"${reason}"}` }];

  // A reader was judged once, as it began: with a revoked token it read on for up to an hour, with
  // one that ended until the next heartbeat.
  it('a token that was revoked reads on for at most five seconds', async () => {
    const { clock, stored, lastWords } = await reading([token]);
    await clock.advance(60_000);
    stored.tokens = [];
    await clock.advance(5_000);
    expect(await lastWords()).toEqual(shutdown('token_revoked'));
  });

  it('a token that has ended reads on for at most five seconds, also while the database is away', async () => {
    const clock = new VirtualClock();
    const ending = { ...token, expiresAtMs: clock.nowMs() + 61_000 };
    const { clock: its, stored, reader, lastWords } = await reading([ending]);
    stored.away = true;
    await its.advance(60_000);
    expect(reader.ended).toBe(false);
    await its.advance(6_000);
    expect(await lastWords()).toEqual(shutdown('token_expired'));
  });

  it('a token that is still good reads on, also while the database is away', async () => {
    const { clock, stored, rig, reader } = await reading([token]);
    stored.away = true;
    await clock.advance(600_000);
    expect(reader.ended).toBe(false);
    rig.reads.addUpdate();
    rig.server.wake();
    await clock.advance(1_000);
    await eventually(() => expect(reader.events).toMatchObject([{ event: 'update' }]));
  });
});

describe('issue: One instance refused a token an hour before its end, and another took it still.', () => {
  const hour = 3_600_000;

  it.each([-24, -1, 0, 1, 24])(
    'a token ends by the time of the database, with an own clock %i h ahead',
    async (hours) => {
      const clock = new VirtualClock(1_000 * hour);
      const sharedClock = new SharedClock(clock);
      const databaseMs = clock.nowMs() - hours * hour;
      await sharedClock.read(async () => databaseMs);
      const token = { name: 'desk', sha256: sha256('t'), scopes: ['orders:read'], accounts: ['ACC-1'] } as const;
      const active = async () => [{ ...token, expiresAtMs: databaseMs + hour / 2 }];
      const rig = await startRest({ clock, ports: { sharedClock }, principals: { active } });
      const status = async () =>
        (await ask(`${rig.address}/v1/orders?accountId=ACC-1`, { headers: { authorization: 'Bearer t' } })).status;
      expect(await status()).toBe(200);
      await clock.advance(hour / 2 + 1_000);
      expect(await status()).toBe(401);
      await rig.server.drain(AbortSignal.abort());
    },
  );
});

describe('issue: A token for one account read the id of another one, in the last error of its own.', () => {
  it.each([
    ['not shown to a token for some of the accounts of its connection', ['ACC-1'], undefined],
    ['shown to a token for each of them', ['ACC-1', 'ACC-2'], 'subscribing ACC-2 was not answered, like any other'],
    ['shown to a token for all accounts', 'all' as const, 'subscribing ACC-2 was not answered, like any other'],
  ])('the last error of an account is %s', async (_, accounts, lastError) => {
    const rig = await startRest({ auth: { tokens: [{ name: 'desk', sha256: sha256('desk'), scopes, accounts }] } });
    onTestFinished(async () => void (await rig.server.drain(new AbortController().signal)));
    rig.reads.accountRows = [{ stream: 'account', accountId: 'ACC-1', isSim: true, openOrders: 0 }];
    const beside = ['ACC-1', 'ACC-2'];
    const said = 'subscribing ACC-2 was not answered, like any other';
    rig.followed.accounts = [
      { stream: 'account', accountId: 'ACC-1', state: 'live', sinceMs: 0, silentLosses: 0, beside, lastError: said },
    ];
    const { body } = await ask(`${rig.address}/v1/accounts`, { headers: { authorization: 'Bearer desk' } });
    expect(body['items']).toMatchObject([{ accountId: 'ACC-1', state: 'live' }]);
    expect((body['items'] as { lastError?: string }[])[0]?.lastError).toBe(lastError);
  });
});

// What a user saw: Every token was refused while the issuer published two keys without ids.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { JwtVerifier } from '../../../src/service/rest/auth/jwt-verifier.ts';
import { testLines } from '../../support/runs/test-lines.ts';

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
    ['of keys with and without ids', [{ ...(keys[0] ?? {}), kid: 'other' }, ...keys.slice(1)] as JWK[], { kid: 'one' }],
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

/** A caller was refused for a wrong audience, and nothing said which one was found or expected. */
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

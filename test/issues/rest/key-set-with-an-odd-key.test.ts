// What a user saw: Every token was refused while the issuer's key set had an entry that is no key.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterEach, expect, it } from 'vitest';
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

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';

/**
 * An identity provider on a real port, as far as we need one: it publishes its keys, signs, and
 * changes its key. Stopped with the test.
 */
export async function jwtIssuer(audience: string) {
  let published: JWK[] = [];
  let key = await newKey('first');
  published = [key.jwk];
  const told = { asked: 0 };
  const http = createServer((_request, response) => {
    told.asked += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: published }));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    told,
    env: { TIDEMARK_AUTH_ISSUER: url, TIDEMARK_AUTH_AUDIENCE: audience, TIDEMARK_AUTH_JWKS_URL: `${url}/keys` },
    /**
     * A token by the present key; `claims` over those that let a
     * trader in, undefined leaves one out.
     */
    sign(claims: Readonly<Record<string, unknown>> = {}): Promise<string> {
      const exp = Math.floor(systemClock.nowMs() / 1000) + 3600;
      const all = {
        iss: url,
        aud: audience,
        sub: 'trader',
        exp,
        scope: 'orders:read orders:write',
        accounts: [],
        ...claims,
      };
      const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
      return new SignJWT(present)
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: key.kid })
        .sign(key.privateKey);
    },
    /** Signs by a new key from now on, and publishes that alone. */
    async rotate(): Promise<void> {
      key = await newKey('second');
      published = [key.jwk];
    },
  };
}

async function newKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } };
}

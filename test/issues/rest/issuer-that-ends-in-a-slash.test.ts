// What a user saw: Every token of Auth0 was refused, because its issuer ends in a slash.

import { afterEach, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import { ask, startIssuer, startRest } from '../../support/rest/rest-rig.ts';

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

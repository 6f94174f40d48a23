// What a user saw: An ID token of the issuer was accepted as an access token.

import { afterEach, expect, it } from 'vitest';
import { ask, startIssuer, startRest } from '../../support/rest/rest-rig.ts';

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

// What a user saw: Accounts said that a person has to sign in, while one more token would have been enough.

import { expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { MemoryTokenStore } from '../../../src/runtime/token-store.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { CredentialOptions } from '../../../src/venue/platform/acquire-token.ts';
import type { Http } from '../../../src/venue/platform/http.ts';
import { RefreshingTokenSource } from '../../../src/venue/platform/token-source.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const production = 'https://platform/v1/orders';
const staging = 'https://staging/v1/orders';
const hourMs = 3_600_000;

/** `nameOf`: the text of the n-th token that the platform gives; a word alone is its refusal. */
function rig(nameOf: (n: number) => string = (n) => `t${n}`, grant: CredentialOptions['grant'] = 'client_credentials') {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const http: Http = {
    request: async ({ body }) => {
      asked.push(body ?? '');
      const name = nameOf(asked.length);
      const isRefused = name === 'invalid_grant';
      const answer = isRefused ? { error: name } : { access_token: name, token_type: 'Bearer', expires_in: 3600 };
      const headers = { 'content-type': 'application/json' };
      return { kind: 'answered', status: isRefused ? 400 : 200, headers, text: JSON.stringify(answer) };
    },
    close: async () => undefined,
  };
  const store = new MemoryTokenStore({ clock });
  const tokens = new RefreshingTokenSource(
    { http, clock, store, random: seededRandom(1), log: silentLog, metrics: createMetrics().platform },
    {
      ...{ name: 'client', holder: 'one', baseUrl: 'https://platform', grant },
      credential: { clientId: 'id', clientSecret: new Secret('hush') },
    },
  );
  onTestFinished(() => tokens.drain());
  const textOf = async (result: ReturnType<RefreshingTokenSource['get']>) => {
    const outcome = await result;
    return outcome.ok ? outcome.token.secret.reveal() : outcome.error.code;
  };
  const get = (url: string) => textOf(tokens.get(url));
  /** The host answers 401 to the token that it gets. */
  const refusedAt = async (url: string) => {
    const held = await tokens.get(url);
    return held.ok ? textOf(tokens.renew(held.token.generation, url)) : held.error.code;
  };
  /** Two renewals in a row did not help: from now on there is a rest between two. */
  const rested = async (url: string) => {
    for (const want of ['t2', 't3']) expect(await refusedAt(url)).toBe(want);
  };
  return { clock, asked, store, tokens, get, refusedAt, rested };
}

it('the reporter of a refused token never gets it again, and hears why there is no other', async () => {
  const { tokens, get, refusedAt, rested } = rig();
  await rested(production);
  const held = await tokens.get(production);
  if (!held.ok) throw new Error('there is a new one');
  const answer = await tokens.renew(held.token.generation, production);
  expect(answer).toMatchObject({
    ok: false,
    error: {
      code: 'TOKEN_UNAVAILABLE',
      retryable: true,
      message: expect.stringMatching(/each new token ends the one before/),
    },
  });
  expect(tokens.status()).toMatchObject({ state: 'held', lastError: expect.stringMatching(/soon after it gave them/) });
  // Another read of that host may find out once or twice more that it is not good.
  for (let reads = 0; reads < 10; reads += 1) await refusedAt(production);
  expect(await get(production)).toBe('TOKEN_UNAVAILABLE');
});

it('a host that refuses what the others take is left alone, and the others go on', async () => {
  const { clock, asked, get, refusedAt, rested } = rig();
  await rested(staging);
  for (let reads = 0; reads < 10; reads += 1) {
    await refusedAt(staging);
    expect(await get(production)).toBe('t3');
  }
  expect(asked).toHaveLength(3);
  await clock.advance(2_000);
  expect(await get(staging), 'the rest is over').toBe('t4');
  expect(asked).toHaveLength(4);
});

it('one account that is refused with every token leaves the token to the others', async () => {
  const { tokens, get, refusedAt, rested } = rig();
  await rested(production);
  for (let reads = 0; reads < 20; reads += 1) {
    await refusedAt(production);
    const held = await tokens.get(production);
    if (!held.ok) throw new Error('the others have no token');
    tokens.taken(held.token.generation, production);
  }
  expect(await get(production)).toBe('t3');
});

it('a token that is given again opens no connection anew, and is tried again where it was refused after a rest', async () => {
  const { clock, asked, tokens, get, refusedAt } = rig(() => 'same');
  const renewed: number[] = [];
  tokens.onRenewed(({ generation }) => renewed.push(generation));
  expect(await get(production)).toBe('same');
  expect(await refusedAt(staging)).toBe('TOKEN_UNAVAILABLE');
  expect([await get(staging), await get(production)]).toEqual(['TOKEN_UNAVAILABLE', 'same']);
  expect(renewed).toHaveLength(1);
  await clock.advance(1_100);
  expect(await get(staging)).toBe('same');
  for (let second = 0; second < 600; second += 1) {
    await refusedAt(staging);
    expect(await get(production)).toBe('same');
    await clock.advance(1_000);
  }
  expect(asked.length).toBeLessThan(40);
});

it('a token that another process has stored is taken in the rest, too', async () => {
  const { store, get, refusedAt, rested } = rig();
  await rested(production);
  await store.save('client', 3, {
    accessToken: new Secret('theirs'),
    expiresAtMs: Date.now() + 10 * 365 * 24 * hourMs,
  });
  expect(await refusedAt(production)).toBe('theirs');
  expect(await get(production)).toBe('theirs');
});

it('a refresh that is refused after another process has made it asks no person', async () => {
  const clockless = Number.MAX_SAFE_INTEGER;
  const { store, asked, get } = rig(() => {
    // Our claim has ended while we stood still, and the other one was quicker.
    void store.save('client', 1, {
      accessToken: new Secret('theirs'),
      expiresAtMs: clockless,
      refreshToken: new Secret('r2'),
    });
    return 'invalid_grant';
  }, 'refresh');
  await store.save('client', 0, { accessToken: new Secret('old'), expiresAtMs: 0, refreshToken: new Secret('r1') });
  expect(await get(production)).toBe('theirs');
  expect(asked).toHaveLength(1);
});

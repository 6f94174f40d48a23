import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { Token, TokenStore } from '../../../src/runtime/token-store.ts';
import { MemoryTokenStore } from '../../../src/runtime/token-store.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { CredentialOptions } from '../../../src/venue/platform/acquire-token.ts';
import { RefreshingTokenSource } from '../../../src/venue/platform/token-source.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

/** The address for which tokens are asked. */
const here = 'http://platform/v1/orders';
type Answer = Parameters<typeof scriptedServer>[0];
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

const issue: Answer = (_, response, count) =>
  json(response, 200, { access_token: `t${count}`, token_type: 'Bearer', expires_in: 1000 });

interface Setup {
  readonly clock?: Clock;
  readonly store?: TokenStore;
  readonly holder?: string;
  readonly url?: string;
  readonly grant?: CredentialOptions['grant'];
}

async function source(answer: Answer, setup: Setup = {}) {
  const server = await scriptedServer(answer);
  const clock = setup.clock ?? systemClock;
  // The deadlines of HTTP itself stay on real time: the virtual clock does not wait for sockets.
  const http = new UndiciHttp({ clock: systemClock });
  const store = setup.store ?? new MemoryTokenStore({ clock });
  const tokens = new RefreshingTokenSource(
    { http, clock, store, random: seededRandom(1), log: silentLog, metrics: createMetrics().platform },
    {
      name: 'client',
      holder: setup.holder ?? 'one',
      baseUrl: setup.url ?? server.url,
      credential: { clientId: 'id', clientSecret: new Secret('hush') },
      grant: setup.grant ?? 'client_credentials',
    },
  );
  closers.push(
    server.close,
    () => http.close(),
    () => tokens.drain(),
  );
  return { tokens, server, store };
}

async function token(result: ReturnType<RefreshingTokenSource['get']>): Promise<{ text: string; generation: number }> {
  const outcome = await result;
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.error));
  return { text: outcome.token.secret.reveal(), generation: outcome.token.generation };
}

describe('a token source', () => {
  it('asks once however many ask it at the same time', async () => {
    const { tokens, server } = await source(issue);
    const results = await Promise.all(Array.from({ length: 50 }, () => token(tokens.get(here))));
    expect(new Set(results.map(({ text }) => text))).toEqual(new Set(['t1']));
    expect(server.received).toHaveLength(1);
    expect(new URLSearchParams(server.received[0]?.body)).toEqual(
      new URLSearchParams('grant_type=client_credentials&client_id=id&client_secret=hush'),
    );
  });

  it('gets another one after a 401, once for all who saw it', async () => {
    const { tokens, server } = await source(issue);
    const { generation } = await token(tokens.get(here));
    const renewed = await Promise.all([
      token(tokens.renew(generation, here)),
      token(tokens.renew(generation, here)),
      token(tokens.renew(generation, here)),
    ]);
    expect(renewed.map(({ text }) => text)).toEqual(['t2', 't2', 't2']);
    expect((await token(tokens.renew(generation, here))).text).toBe('t2');
    expect(server.received).toHaveLength(2);
  });

  it('renews ahead of the end, and tells whoever wants to know', async () => {
    const clock = new VirtualClock();
    const { tokens, server } = await source(issue, { clock });
    await tokens.start();
    const told: string[] = [];
    const { promise: second, resolve } = Promise.withResolvers<void>();
    tokens.onRenewed(({ secret }) => {
      told.push(secret.reveal());
      if (told.length === 2) resolve();
    });
    await token(tokens.get(here));
    await clock.advance(799_000);
    expect(server.received).toHaveLength(1);
    await clock.advance(2_000);
    await second;
    expect(told).toEqual(['t1', 't2']);
    expect((await token(tokens.get(here))).text).toBe('t2');
  });

  it('is not fooled by a wall clock that steps', async () => {
    const clock = new VirtualClock();
    const { tokens, server } = await source(issue, { clock });
    await token(tokens.get(here));
    clock.stepWall(3_600_000);
    expect((await token(tokens.get(here))).text).toBe('t1');
    clock.stepWall(-7_200_000);
    await clock.advance(1_001_000);
    expect((await token(tokens.get(here))).text).toBe('t2');
    expect(server.received).toHaveLength(2);
  });

  it('says LOGIN_REQUIRED when the platform refuses the credential, and does not hammer it', async () => {
    const { tokens, server } = await source((_, response) => json(response, 401, { error: 'invalid_client' }), {
      clock: new VirtualClock(),
    });
    for (let i = 0; i < 20; i += 1) {
      expect(await tokens.get(here)).toMatchObject({ ok: false, error: { code: 'LOGIN_REQUIRED', retryable: false } });
    }
    expect(server.received).toHaveLength(1);
  });

  it.each<[string, Answer]>([
    ['500', (_, response) => json(response, 500, {})],
    ['HTML', (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    ['a token of another type', (_, response) => json(response, 200, { access_token: 'x', token_type: 'mac' })],
    ['a lost answer', (_, response) => void response.destroy()],
  ])('takes %s for a passing fault and gets a token later', async (_, broken) => {
    const clock = new VirtualClock();
    const { tokens } = await source(
      (request, response, count) => (count === 1 ? broken(request, response, count) : issue(request, response, count)),
      { clock },
    );
    expect(await tokens.get(here)).toMatchObject({ ok: false, error: { code: 'TOKEN_UNAVAILABLE', retryable: true } });
    await clock.advance(1_000);
    expect((await token(tokens.get(here))).text).toBe('t2');
  });

  it('never prints a secret', async () => {
    const { tokens } = await source((_, response) =>
      json(response, 401, { error: 'invalid_client', error_description: 'no such client' }),
    );
    expect(JSON.stringify(await tokens.get(here))).not.toContain('hush');
    const good = await source(issue);
    expect(JSON.stringify(await good.tokens.get(here))).not.toContain('t1"');
  });
});

describe('two sources that share a store', () => {
  it('make one exchange between them', async () => {
    const store = new MemoryTokenStore({ clock: systemClock });
    const first = await source(issue, { store, holder: 'one' });
    const second = await source(issue, { store, holder: 'two', url: first.server.url });
    const [a, b] = await Promise.all([token(first.tokens.get(here)), token(second.tokens.get(here))]);
    expect([a.text, b.text]).toEqual(['t1', 't1']);
    expect(first.server.received).toHaveLength(1);
  });
});

describe('a refresh token', () => {
  const stored: Token = { accessToken: new Secret('old'), expiresAtMs: 0, refreshToken: new Secret('r0') };
  const rotate: Answer = (request, response, count) => {
    const sent = new URLSearchParams(request.body).get('refresh_token');
    if (sent !== `r${count - 1}`) return json(response, 400, { error: 'invalid_grant' });
    json(response, 200, {
      access_token: `t${count}`,
      token_type: 'Bearer',
      expires_in: 1000,
      refresh_token: `r${count}`,
    });
  };

  it('is replaced in the store before the token that came with it is used', async () => {
    const store = new MemoryTokenStore({ clock: systemClock });
    await store.save('client', 0, stored);
    const { tokens } = await source(rotate, { store, grant: 'refresh' });
    const { generation } = await token(tokens.get(here));
    expect((await store.load('client'))?.refreshToken?.reveal()).toBe('r1');
    expect((await token(tokens.renew(generation, here))).text).toBe('t2');
    expect((await store.load('client'))?.refreshToken?.reveal()).toBe('r2');
  });

  it('that could not be stored is not used, waits, and is stored first thing when the store is back', async () => {
    const clock = new VirtualClock();
    const memory = new MemoryTokenStore({ clock });
    await memory.save('client', 0, stored);
    let down = false;
    const store: TokenStore = {
      claim: (...args) => memory.claim(...args),
      unclaim: (...args) => memory.unclaim(...args),
      load: (...args) => memory.load(...args),
      save: async (...args) => {
        if (down) throw new Error('connection refused');
        return memory.save(...args);
      },
    };
    down = true;
    const { tokens, server } = await source(rotate, { store, clock, grant: 'refresh' });
    expect(await tokens.get(here)).toMatchObject({ ok: false, error: { code: 'TOKEN_UNAVAILABLE' } });
    down = false;
    await clock.advance(1_000);
    expect((await token(tokens.get(here))).text).toBe('t1');
    expect(server.received).toHaveLength(1);
    expect((await memory.load('client'))?.refreshToken?.reveal()).toBe('r1');
  });

  it('that was rotated by an answer that got lost ends in a visible LOGIN_REQUIRED', async () => {
    const clock = new VirtualClock();
    const store = new MemoryTokenStore({ clock });
    await store.save('client', 0, stored);
    const { tokens } = await source(
      (request, response, count) => (count === 1 ? void response.destroy() : rotate(request, response, count)),
      { store, clock, grant: 'refresh' },
    );
    expect(await tokens.get(here)).toMatchObject({ error: { code: 'TOKEN_UNAVAILABLE' } });
    await clock.advance(1_000);
    expect(await tokens.get(here)).toMatchObject({ error: { code: 'LOGIN_REQUIRED' } });
  });
});

import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { MemoryTokenStore, type Token, type TokenStore } from '../../../src/runtime/token-store.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { Http } from '../../../src/venue/http.ts';
import { acquireToken, type CredentialOptions } from '../../../src/venue/platform/acquire-token.ts';
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

async function token(asked: ReturnType<RefreshingTokenSource['get']>): Promise<{ text: string; generation: number }> {
  const result = await asked;
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return { text: result.token.secret.reveal(), generation: result.token.generation };
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

describe('issue: The accounts of a login stopped working although the platform had just given a new token.', () => {
  class StickyStore extends MemoryTokenStore {
    override async unclaim(): Promise<void> {
      throw new Error('the database went away');
    }
  }

  async function setUp() {
    const server = await scriptedServer((_, response, count) =>
      json(response, 200, { access_token: `t${count}`, token_type: 'Bearer', expires_in: 1000 }),
    );
    const http = new UndiciHttp({ clock: systemClock });
    onTestFinished(async () => {
      await http.close();
      await server.close();
    });
    const deps = { http, clock: systemClock, store: new StickyStore({ clock: systemClock }) };
    const credential = { clientId: 'id', clientSecret: new Secret('hush') };
    const options = {
      name: 'client',
      holder: 'one',
      baseUrl: server.url,
      credential,
      grant: 'client_credentials',
    } as const;
    return { server, acquire: (beyond: number) => acquireToken(deps, options, beyond, {}) };
  }

  // Found by reading: the claim was given back in `finally`, and when the store failed just then,
  // its error took the place of the token that had been had and stored: the credential counted as
  // unavailable, and with it every read, stream and command of its accounts.
  it('is no reason to throw away the token that was had under it', async () => {
    const { server, acquire } = await setUp();
    expect(await acquire(0)).toMatchObject({ ok: true, token: { generation: 1 } });
    expect(server.received).toHaveLength(1);
  });

  it('is no reason to throw away a token that somebody else has stored', async () => {
    const { server, acquire } = await setUp();
    await acquire(0);
    expect(await acquire(0)).toMatchObject({ ok: true, token: { generation: 1 } });
    expect(server.received).toHaveLength(1);
  });
});

describe("issue: Staging refused every token, and production's stream was opened anew each 15 s.", () => {
  const staging = 'http://staging/v1';

  async function tokenSource() {
    const server = await scriptedServer((_, response, count) =>
      json(response, 200, { access_token: `t${count}`, token_type: 'Bearer', expires_in: 86_400 }),
    );
    const clock = new VirtualClock();
    const http = new UndiciHttp({ clock: systemClock });
    const store = new MemoryTokenStore({ clock });
    const tokens = new RefreshingTokenSource(
      { http, clock, store, random: seededRandom(1), log: silentLog, metrics: createMetrics().platform },
      {
        ...{ name: 'client', holder: 'one', baseUrl: server.url, grant: 'client_credentials' },
        credential: { clientId: 'id', clientSecret: new Secret('hush') },
      },
    );
    onTestFinished(async () => {
      await tokens.drain();
      await http.close();
      await server.close();
    });
    const refusedNow = async () => {
      const held = await tokens.get(staging);
      if (held.ok) await tokens.renew(held.token.generation, staging);
    };
    return { tokens, server, clock, refusedNow };
  }

  it('a token that is refused at once, again and again, is renewed once a minute at most', async () => {
    const { server, clock, refusedNow } = await tokenSource();
    // A thousand accounts are read each minute by a host that refuses all of it.
    for (let second = 0; second < 600; second += 1) {
      await refusedNow();
      await clock.advance(1_000);
    }
    expect(server.received.length).toBeLessThan(20);
    expect(server.received.length).toBeGreaterThan(8);
  });

  it('one that was good for a while is renewed at once, and so is the next', async () => {
    const { server, clock, refusedNow } = await tokenSource();
    await refusedNow();
    expect(server.received).toHaveLength(2);
    await clock.advance(600_000);
    await refusedNow();
    await refusedNow();
    expect(server.received).toHaveLength(4);
  });
});

describe('issue: Accounts said that a person has to sign in, while one more token would have been enough.', () => {
  const production = 'https://platform/v1/orders';
  const staging = 'https://staging/v1/orders';
  const hourMs = 3_600_000;

  /** `nameOf`: the text of the n-th token that the platform gives; a word alone is its refusal. */
  function rig(
    nameOf: (n: number) => string = (n) => `t${n}`,
    grant: CredentialOptions['grant'] = 'client_credentials',
  ) {
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
    const textOf = async (asked: ReturnType<RefreshingTokenSource['get']>) => {
      const result = await asked;
      return result.ok ? result.token.secret.reveal() : result.error.code;
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
    expect(tokens.status()).toMatchObject({
      state: 'held',
      lastError: expect.stringMatching(/soon after it gave them/),
    });
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
});

describe('issue: Ten tokens a second were asked for, and every stream was opened anew for each of them.', () => {
  /** The latest instant that a `timestamptz` has. */
  const latestMs = Date.parse('9999-12-31T00:00:00Z');

  /**
   * A token endpoint that gives every token this lifetime, and a source at work for ten minutes.
   */
  async function tenMinutesWith(expiresIn: string) {
    const clock = new VirtualClock(Date.parse('2026-11-21T12:00:00Z'));
    let asked = 0;
    const http: Http = {
      request: async () => {
        asked += 1;
        await clock.sleep(5);
        const text = `{"access_token":"t${asked}","token_type":"Bearer","expires_in":${expiresIn}}`;
        return { kind: 'answered', status: 200, headers: { 'content-type': 'application/json' }, text };
      },
      close: async () => undefined,
    };
    const saved: Token[] = [];
    const store = new MemoryTokenStore({ clock });
    const save = store.save.bind(store);
    store.save = (name, replaces, token) => {
      saved.push(token);
      return save(name, replaces, token);
    };
    const source = new RefreshingTokenSource(
      { http, clock, store, random: seededRandom(1), log: silentLog, metrics: createMetrics().platform },
      {
        name: 'client',
        holder: 'one',
        baseUrl: 'http://127.0.0.1:1',
        credential: { clientId: 'id', clientSecret: new Secret('hush') },
        grant: 'client_credentials',
      },
    );
    let renewed = 0;
    source.onRenewed(() => {
      renewed += 1;
    });
    await source.start();
    onTestFinished(() => source.drain());
    const first = source.get('http://platform');
    for (let second = 0; second < 600; second += 1) await clock.advance(1_000);
    return { result: await first, asked, renewed, saved };
  }

  it.each(['0', '-5', '0.001', '1e-9', '"0.2"', 'null', '""', '"never"', '1e400', '[]', '{}'])(
    'a lifetime of %s is taken for one that was left out',
    async (expiresIn) => {
      const { result, asked, renewed } = await tenMinutesWith(expiresIn);
      expect(result.ok).toBe(true);
      expect(asked).toBeLessThan(10);
      expect(renewed).toBeLessThan(10);
    },
  );

  it.each(['1e12', '1e13', '1e300', '9007199254740993', '"99999999999999999999"'])(
    'a lifetime of %s ends at a time that can be stored',
    async (expiresIn) => {
      const { result, asked, saved } = await tenMinutesWith(expiresIn);
      expect([result.ok, asked]).toEqual([true, 1]);
      expect(saved[0]?.expiresAtMs).toBeLessThan(latestMs);
    },
  );

  it.each(['1', '5', '30'])('a lifetime of %s s is a short one, and is kept to', async (expiresIn) => {
    const { asked } = await tenMinutesWith(expiresIn);
    expect(asked).toBeLessThanOrEqual(600 / (Number(expiresIn) * 0.8) + 2);
    expect(asked).toBeGreaterThan(500 / Number(expiresIn));
  });
});

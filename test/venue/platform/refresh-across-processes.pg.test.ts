import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { Token } from '../../../src/runtime/token-store.ts';
import type { RefreshMode } from '../../../src/sandbox/auth/refresh-tokens.ts';
import { platformSettings } from '../../../src/sandbox/describe-sandbox.ts';
import type { SandboxInput } from '../../../src/sandbox/sandbox-options.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { PostgresTokenStore, tokenKeys } from '../../../src/store/token-store.ts';
import { acquireToken, type CredentialOptions } from '../../../src/venue/platform/acquire-token.ts';
import { RefreshingTokenSource, storeLogin } from '../../../src/venue/platform/token-source.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { control, controlLines, runningSandbox } from '../../support/platform/sandbox.ts';
import { accountsOf, codeFor, exchange } from '../../support/platform/sign-in.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { freshDatabase } from '../../support/servers/database.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

const credentialName = 'login:alice';

/**
 * A linked login in one database, and what each process that uses it has
 * of its own: pool, HTTP and token source.
 */
async function rig(mode: RefreshMode = 'rotate') {
  const { description: sandbox } = await runningSandbox({ tokens: { refresh: { mode } } });
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const key = new Secret(randomBytes(32).toString('base64'));
  const process = (holder: string) => {
    const pool = createPool({ log: silentLog }, { url: database.url, applicationName: holder, maxConnections: 2 });
    const http = new UndiciHttp({ clock: systemClock });
    const store = new PostgresTokenStore({ pool, clock: systemClock, random: seededRandom(1), key });
    const source = new RefreshingTokenSource(
      { http, clock, store, random: seededRandom(1), log: silentLog, metrics: createMetrics().platform },
      {
        name: credentialName,
        holder,
        baseUrl: sandbox.platform,
        credential: { clientId: sandbox.clientId, clientSecret: new Secret(sandbox.clientSecret) },
        grant: 'refresh',
      },
    );
    onTestFinished(async () => {
      await source.drain();
      await http.close();
      await pool.end();
    });
    return { source, store };
  };
  const tokens = (await exchange(sandbox, await codeFor(sandbox))).json;
  const first = process('first');
  await signedIn(first.store, tokens);
  return { sandbox, first, second: process('second') };
}

interface SignedIn {
  readonly access_token: string;
  readonly refresh_token: string;
}

function tokenOf({ access_token: accessToken, refresh_token: refreshToken }: SignedIn): Token {
  return {
    accessToken: new Secret(accessToken),
    expiresAtMs: systemClock.nowMs() + 3_600_000,
    refreshToken: new Secret(refreshToken),
  };
}

/** As `tidemark link` stores what a sign-in brought. */
async function signedIn(store: PostgresTokenStore, tokens: SignedIn): Promise<void> {
  const token = tokenOf(tokens);
  await storeLogin({ clock: systemClock, store }, credentialName, 'link', async () => ({ ok: true, token }));
}

/** The statuses that refreshes were answered with; null for an answer that was cut off. */
async function answers(sandbox: Parameters<typeof controlLines>[0]): Promise<unknown[]> {
  const lines = await controlLines(sandbox, '/ledger?kind=request,answer');
  const asked = new Set(lines.filter(({ body }) => body?.includes('grant_type=refresh_token')).map(({ seq }) => seq));
  return lines.filter(({ kind, request }) => kind === 'answer' && asked.has(request)).map(({ status }) => status);
}

async function held(asked: ReturnType<RefreshingTokenSource['get']>) {
  const result = await asked;
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.token;
}

/** By how much the tokens are older than they are, by the clock of both sources. */
const age = { ms: 0 };
const clock: Clock = Object.create(systemClock, {
  monotonicMs: { value: () => systemClock.monotonicMs() + age.ms },
});

describe('two token sources on one database, as two processes have them,', () => {
  it('make one refresh for each renewal that both need, over and over, and never use a token twice', async () => {
    const { sandbox, first, second } = await rig();
    let tokens = await Promise.all([
      held(first.source.get(sandbox.platform)),
      held(second.source.get(sandbox.platform)),
    ]);
    expect(tokens[0].secret.reveal()).toBe(tokens[1].secret.reveal());
    for (let round = 1; round <= 5; round += 1) {
      const [one, two] = tokens;
      const askMany = (source: RefreshingTokenSource, generation: number) =>
        Array.from({ length: 5 }, () => held(source.renew(generation, sandbox.platform)));
      const results = await Promise.all([
        ...askMany(first.source, one.generation),
        ...askMany(second.source, two.generation),
      ]);
      expect(new Set(results.map(({ secret }) => secret.reveal())).size).toBe(1);
      tokens = await Promise.all([held(first.source.get(sandbox.platform)), held(second.source.get(sandbox.platform))]);
      expect(await answers(sandbox)).toEqual(Array(round).fill(200));
      // Each token was good for a while: one that is refused at once has the next one wait.
      age.ms += 180_000;
    }
    expect((await accountsOf(sandbox, tokens[0].secret.reveal())).status).toBe(200);
  });

  it('get over a lost answer with the old refresh token, where the platform allows it', async () => {
    const { sandbox, first } = await rig('grace');
    const { generation } = await held(first.source.get(sandbox.platform));
    await control(sandbox, '/faults', {
      rules: [{ on: 'request', fault: 'torn', method: 'POST', path: '/v1/oauth2/token' }],
    });
    expect(await first.source.renew(generation, sandbox.platform)).toMatchObject({
      ok: false,
      error: { code: 'TOKEN_UNAVAILABLE' },
    });
    const again = await eventually(() => held(first.source.get(sandbox.platform)), { deadlineMs: 10_000 });
    expect((await accountsOf(sandbox, again.secret.reveal())).status).toBe(200);
    expect(await answers(sandbox)).toHaveLength(2);
  });

  it('end in LOGIN_REQUIRED after a lost answer where the platform takes the old one for a theft, and begin again with a new sign-in', async () => {
    const { sandbox, first, second } = await rig();
    const { generation } = await held(first.source.get(sandbox.platform));
    await control(sandbox, '/faults', {
      rules: [{ on: 'request', fault: 'torn', method: 'POST', path: '/v1/oauth2/token' }],
    });
    await first.source.renew(generation, sandbox.platform);
    await eventually(
      async () =>
        expect(await first.source.get(sandbox.platform)).toMatchObject({
          ok: false,
          error: { code: 'LOGIN_REQUIRED' },
        }),
      { deadlineMs: 10_000 },
    );
    expect(first.source.status()).toMatchObject({ state: 'login_required' });
    const tokens = (await exchange(sandbox, await codeFor(sandbox))).json;
    await signedIn(second.store, tokens);
    first.source.retryNow();
    expect((await held(first.source.get(sandbox.platform))).secret.reveal()).toBe(tokens.access_token);
    expect(first.source.status()).toMatchObject({ state: 'held' });
  });

  it('wait for a sign-in that ends the login before, and ask for no other one', async () => {
    const { sandbox, first, second } = await rig();
    const { generation } = await held(first.source.get(sandbox.platform));
    let renewed: ReturnType<RefreshingTokenSource['renew']> | undefined;
    const stored = await storeLogin({ clock: systemClock, store: second.store }, credentialName, 'link', async () => {
      const code = await codeFor(sandbox);
      await control(sandbox, '/end-logins', { username: 'alice' });
      // Its token was refused just now, and it is about to use the old refresh token.
      renewed = first.source.renew(generation, sandbox.platform);
      const token = tokenOf((await exchange(sandbox, code)).json);
      return { ok: true, token };
    });
    expect(stored).toMatchObject({ ok: true });
    const after = await held(renewed ?? first.source.get(sandbox.platform));
    expect((await accountsOf(sandbox, after.secret.reveal())).status).toBe(200);
    expect(await answers(sandbox), 'the old refresh token was not used').toEqual([]);
  });
});

describe('issue: A second process was started, and the first said that a person has to sign in.', () => {
  const hourMs = 3_600_000;

  /** Processes of one client on one database; each new token ends the one before. */
  async function rig(tokens: SandboxInput['tokens'] = {}) {
    const { description: sandbox } = await runningSandbox({ tokens: { single: true, ...tokens } });
    const database = await freshDatabase();
    onTestFinished(() => database.drop());
    const process = (holder: string, { key, skewMs = 0 }: { key?: Secret; skewMs?: number } = {}) => {
      const clock: Clock = Object.create(systemClock, { nowMs: { value: () => systemClock.nowMs() + skewMs } });
      const pool = createPool({ log: silentLog }, { url: database.url, applicationName: holder, maxConnections: 2 });
      const http = new UndiciHttp({ clock: systemClock });
      const clientSecret = new Secret(sandbox.clientSecret);
      const keys = tokenKeys({ encryptionKey: key, platformClientSecret: clientSecret });
      if (keys === undefined) throw new Error('there is a secret');
      const store = new PostgresTokenStore({ pool, clock, random: seededRandom(1), ...keys });
      const source = new RefreshingTokenSource(
        { http, clock, store, random: seededRandom(1), log: silentLog, metrics: createMetrics().platform },
        {
          ...{ name: 'client', holder, baseUrl: sandbox.platform, grant: 'client_credentials' },
          credential: { clientId: sandbox.clientId, clientSecret },
        },
      );
      onTestFinished(async () => {
        await source.drain();
        await http.close();
        await pool.end();
      });
      return source;
    };
    const asked = async () => (await controlLines(sandbox, '/ledger?kind=token')).length;
    /** As a read does. */
    const read = async (source: RefreshingTokenSource) => {
      const { platform } = sandbox;
      const had = await source.get(platform);
      if (!had.ok) throw new Error(had.error.code);
      const { status } = await accountsOf(sandbox, had.token.secret.reveal());
      if (status !== 401) return status;
      const next = await source.renew(had.token.generation, platform);
      if (!next.ok) throw new Error(next.error.code);
      return (await accountsOf(sandbox, next.token.secret.reveal())).status;
    };
    return { sandbox, database, process, asked, read };
  }

  it.each<[string, { key?: Secret; skewMs?: number }]>([
    ['without a key for the encryption', {}],
    [
      'of which the second has a key, and the first has none yet',
      { key: new Secret(randomBytes(32).toString('base64')) },
    ],
    ['of which the second has a clock that is two hours ahead', { skewMs: 2 * hourMs }],
    ['of which the second has a clock that is two hours behind', { skewMs: -2 * hourMs }],
  ])('processes %s share the one token, and one renewal is enough for both', async (_what, second) => {
    const { sandbox, process, asked, read } = await rig();
    const [one, two] = [process('one'), process('two', second)];
    expect([await read(one), await read(two)]).toEqual([200, 200]);
    expect(await asked()).toBe(1);
    await control(sandbox, '/faults', { now: [{ action: 'revoke_tokens' }] });
    expect([await read(one), await read(two), await read(one)]).toEqual([200, 200, 200]);
    expect(await asked()).toBe(2);
    expect([one.status().state, two.status().state]).toEqual(['held', 'held']);
  });

  it('doctor takes the token that is there, and asks for one where there is none, and leaves it', async () => {
    const { sandbox, database, process, asked, read } = await rig();
    const doctor = async (over: Record<string, string> = {}) => {
      const io = cliIo({
        ...platformSettings(sandbox),
        DATABASE_URL: database.url,
        TIDEMARK_LOG_LEVEL: 'error',
        ...over,
      });
      await runProgram(io, ['doctor', '--json']);
      expect(io.out()).not.toContain(sandbox.clientSecret);
      const findings: { part: string; verdict: string; detail: string }[] = JSON.parse(io.out());
      return Object.fromEntries(findings.map(({ part, ...finding }) => [part, finding]));
    };
    expect((await doctor())['sign-in']).toMatchObject({
      verdict: 'ok',
      detail: expect.stringMatching(/tokens that last 60 min/),
    });
    const source = process('one');
    expect(await read(source)).toBe(200);
    expect(await asked()).toBe(1);
    const beside = await doctor();
    expect(beside['sign-in']).toMatchObject({
      verdict: 'ok',
      detail: expect.stringMatching(/share is good for \d+ min more/),
    });
    expect([beside['accounts']?.verdict, beside['stream']?.verdict]).toEqual(['ok', 'ok']);
    expect(await read(source)).toBe(200);
    expect(await asked()).toBe(1);
    // Another program signs in as this client.
    await control(sandbox, '/faults', { now: [{ action: 'revoke_tokens' }] });
    expect((await doctor())['sign-in']).toMatchObject({
      verdict: 'warn',
      detail: expect.stringMatching(/ends tokens early/),
    });
    expect(await read(source)).toBe(200);
    expect(await asked()).toBe(2);
  }, 60_000);
});

describe('issue: After TIDEMARK_ENCRYPTION_KEY was changed, the service never signed in again.', () => {
  const key = () => new Secret(randomBytes(32).toString('base64'));

  // With another TIDEMARK_ENCRYPTION_KEY the service never signed in again, since its own token of
  // before could not be read: nothing but SQL helped.
  it('the client signs in again in its place, and a login waits for a person', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = stack.use(await storeRig());
    const server = await scriptedServer((_, response) =>
      json(response, 200, { access_token: 'new', token_type: 'Bearer', expires_in: 3600 }),
    );
    stack.defer(server.close);
    const http = new UndiciHttp(rig.deps);
    stack.defer(() => http.close());
    const [before, after] = [key(), key()].map((it) => new PostgresTokenStore({ ...rig.deps, key: it }));
    if (before === undefined || after === undefined) throw new Error('unreachable');
    const token = {
      accessToken: new Secret('old'),
      refreshToken: new Secret('r0'),
      expiresAtMs: rig.deps.clock.nowMs() + 3_600_000,
    };
    for (const name of ['client', 'login:desk']) await before.save(name, 0, token);
    const acquire = (name: string, grant: CredentialOptions['grant']) => {
      const credential = { clientId: 'id', clientSecret: new Secret('hush') };
      return acquireToken(
        { ...rig.deps, http, store: after },
        { name, holder: 'one', baseUrl: server.url, credential, grant },
        0,
        {},
      );
    };

    expect(await acquire('client', 'client_credentials')).toMatchObject({ ok: true, token: { generation: 2 } });
    expect((await after.load('client'))?.accessToken?.reveal()).toBe('new');

    const message = expect.stringContaining('was not sealed with this key');
    expect(await acquire('login:desk', 'refresh')).toMatchObject({
      ok: false,
      error: { code: 'LOGIN_REQUIRED', message },
    });
    expect(server.received).toHaveLength(1);
    expect((await before.load('login:desk'))?.refreshToken?.reveal()).toBe('r0');
  });
});

import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { PostgresTokenStore } from '../../src/store/token-store.ts';
import { linkedSandbox } from '../support/platform/linked-sandbox.ts';
import { ask } from '../support/platform/sandbox.ts';
import { accountsOf, alice, bob, signInByForms } from '../support/platform/sign-in.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { silentLog } from '../support/runs/silent-log.ts';
import { freshDatabase } from '../support/servers/database.ts';

async function rig() {
  const { sandbox, port } = await linkedSandbox();
  const database = await freshDatabase();
  const key = randomBytes(32).toString('base64');
  const pool = createPool({ log: silentLog }, { url: database.url, applicationName: 'test', maxConnections: 2 });
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  const { platform, auth, clientId, clientSecret } = sandbox.description;
  const env = {
    DATABASE_URL: database.url,
    TIDEMARK_ENCRYPTION_KEY: key,
    PLATFORM_URL: platform,
    PLATFORM_AUTH_URL: auth,
    PLATFORM_CLIENT_ID: clientId,
    PLATFORM_CLIENT_SECRET: clientSecret,
  };
  const store = new PostgresTokenStore({ pool, clock: systemClock, random: seededRandom(1), key: new Secret(key) });
  return { sandbox: sandbox.description, port, env, store, pool };
}

/** The command, up to the address that it prints. */
async function started(env: Record<string, string>, port: number, ...flags: string[]) {
  const io = cliIo(env);
  const run = runProgram(io, ['link', '--no-open', '--redirect-port', String(port), ...flags]);
  const address = await eventually(() => {
    const found = /http:\S+\/oauth2\/authorize\?\S+/.exec(io.err())?.[0];
    if (found === undefined) throw new Error(io.err());
    return found;
  });
  return { io, run, address };
}

describe('tidemark link', () => {
  it('signs a user in, stores the tokens encrypted, and says which accounts they see', async () => {
    const { sandbox, port, env, store, pool } = await rig();
    const { io, run, address } = await started(env, port);
    const page = await ask(await signInByForms(address, alice));
    await run;
    expect([page.status, page.text.includes('signed in')]).toEqual([200, true]);
    expect([io.code(), io.out()]).toEqual([0, 'Linked default: SIM-1001, SIM-1002.\n']);
    const stored = await store.load('login:default');
    expect((await accountsOf(sandbox, stored?.accessToken?.reveal() ?? '')).status).toBe(200);
    const { rows } = await pool.query('select credential, claimed_by, sealed from credentials');
    expect(rows).toMatchObject([{ credential: 'login:default', claimed_by: null }]);
    for (const secret of [stored?.accessToken, stored?.refreshToken]) {
      expect(rows[0].sealed.toString('latin1')).not.toContain(secret?.reveal());
      expect(`${io.out()}${io.err()}`).not.toContain(secret?.reveal());
    }
  });

  it('serves a user with MFA, under a name of their own, as a public client too', async () => {
    const { port, env, store } = await rig();
    const { PLATFORM_CLIENT_SECRET: _, ...open } = { ...env, PLATFORM_CLIENT_ID: 'sandbox-app' };
    const { io, run, address } = await started(open, port, '--name', 'bob', '--json');
    await ask(await signInByForms(address, bob, { mfaCode: '246810' }));
    await run;
    expect(JSON.parse(io.out())).toEqual({ name: 'bob', accounts: ['SIM-1003'] });
    expect(await store.stored('login:')).toEqual([{ credential: 'login:bob', generation: 1 }]);
  });

  it('replaces a login of the same name', async () => {
    const { port, env, store } = await rig();
    for (const generation of [1, 2]) {
      const { run, address } = await started(env, port);
      await ask(await signInByForms(address, alice));
      await run;
      expect(await store.stored('login:')).toEqual([{ credential: 'login:default', generation }]);
    }
  });

  it('replaces a login that was sealed with a key that is gone', async () => {
    const { port, env, store } = await rig();
    const token = { accessToken: new Secret('a'), expiresAtMs: 1 };
    await store.save('login:default', 0, token);
    const newKey = { ...env, TIDEMARK_ENCRYPTION_KEY: randomBytes(32).toString('base64') };
    const { io, run, address } = await started(newKey, port);
    await ask(await signInByForms(address, alice));
    await run;
    expect([io.code(), await store.stored('login:')]).toEqual([0, [{ credential: 'login:default', generation: 2 }]]);
  });

  it('stores nothing when the user says no', async () => {
    const { port, env, store } = await rig();
    const { io, run, address } = await started(env, port);
    const page = await ask(await signInByForms(address, alice, { decision: 'deny' }));
    await run;
    expect([page.status, io.code()]).toEqual([400, 1]);
    expect(io.err()).toContain('access_denied');
    expect(await store.stored('login:')).toEqual([]);
  });

  it('stops at an answer with another state, and its code is not exchanged', async () => {
    const { sandbox, port, env, store } = await rig();
    const { io, run, address } = await started(env, port);
    const callback = new URL(await signInByForms(address, alice));
    callback.searchParams.set('state', 'forged');
    await ask(callback.href);
    await run;
    expect(io.code()).toBe(1);
    expect(io.err()).toContain('another state');
    expect(await store.stored('login:')).toEqual([]);
    const { text } = await ask(`${sandbox.control}/ledger?kind=token`);
    expect(text).toBe('');
  });

  it('gives up when nobody signs in, and when it is interrupted', async () => {
    const { port, env } = await rig();
    const late = await started(env, port, '--timeout', '1');
    await late.run;
    expect([late.io.code(), late.io.err().includes('no user signed in')]).toEqual([1, true]);
    const stopped = await started(env, port);
    stopped.io.signal('SIGINT');
    await stopped.run;
    expect(stopped.io.code()).toBe(1);
  });

  it('says what to do when its port is taken', async () => {
    const { port, env } = await rig();
    const first = await started(env, port);
    const io = cliIo(env);
    await runProgram(io, ['link', '--no-open', '--redirect-port', String(port)]);
    expect([io.code(), io.err().includes('--redirect-port')]).toEqual([69, true]);
    first.io.signal('SIGINT');
    await first.run;
  });

  it('lists and removes logins, for which no key is needed', async () => {
    const { env: whole, store } = await rig();
    const env = { DATABASE_URL: whole.DATABASE_URL };
    const list = async () => {
      const io = cliIo(env);
      await runProgram(io, ['link', '--list']);
      return io.out();
    };
    expect(await list()).toBe('No login is linked.\n');
    const token = { accessToken: new Secret('a'), expiresAtMs: 1 };
    await store.save('login:one', 0, token);
    await store.save('login:two', 0, token);
    expect(await list()).toBe('one\ntwo\n');
    await runProgram(cliIo(env), ['link', '--remove', 'one']);
    expect(await list()).toBe('two\n');
    const io = cliIo(env);
    await runProgram(io, ['link', '--remove', 'one']);
    expect([io.code(), io.err().includes('there is no login one')]).toEqual([1, true]);
  });

  it('names every setting that is missing', async () => {
    const io = cliIo({});
    await runProgram(io, ['link']);
    expect(io.code()).toBe(78);
    for (const name of [
      'DATABASE_URL',
      'TIDEMARK_ENCRYPTION_KEY',
      'PLATFORM_URL',
      'PLATFORM_AUTH_URL',
      'PLATFORM_CLIENT_ID',
    ])
      expect(io.err()).toContain(name);
    expect(io.err(), 'and how to make one').toContain('(32 bytes in base64, as `openssl rand -base64 32` makes them)');
  });
});

import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { keysOf } from '../../../src/sandbox/alpaca/api-keys.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { PostgresTokenStore } from '../../../src/store/token-store.ts';
import { linkPair, runningAlpaca } from '../../support/platform/alpaca.ts';
import { control } from '../../support/platform/sandbox.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { freshDatabase } from '../../support/servers/database.ts';

const [first, second] = [keysOf({ id: 'SIM-1001' }), keysOf({ id: 'SIM-1002' })];
const name = 'alpaca_paper:SIM-1001';

async function rig() {
  const [{ description: paper }, { description: live }] = [await runningAlpaca(), await runningAlpaca()];
  const database = await freshDatabase();
  const pool = createPool({ log: silentLog }, { url: database.url, applicationName: 'test', maxConnections: 2 });
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  const key = randomBytes(32).toString('base64');
  const env = {
    ...{ DATABASE_URL: database.url, TIDEMARK_ENCRYPTION_KEY: key, VENUES: 'alpaca' },
    ...{ ALPACA_URL: paper.url, ALPACA_OTHER_URL: live.url },
  };
  const store = new PostgresTokenStore({ pool, clock: systemClock, random: seededRandom(1), key: new Secret(key) });
  const run = async (...argv: string[]) => {
    const io = cliIo(env);
    await runProgram(io, argv);
    return { code: io.code(), out: io.out(), err: io.err() };
  };
  return { paper, live, env, store, pool, run };
}

describe('tidemark link --venue alpaca', () => {
  it('stores a pair that Alpaca takes, sealed, by its account, and writes down who did it', async () => {
    const { env, store, pool, run } = await rig();
    expect(await linkPair(env, first)).toEqual({ code: 0, out: `Linked ${name}.\n`, err: '' });
    const json = await linkPair(env, second, '--json');
    expect(JSON.parse(json.out)).toEqual({ name: 'alpaca_paper:SIM-1002', accounts: ['SIM-1002'] });
    const stored = await store.load(name);
    expect(stored?.accessToken?.reveal()).toBe(`${first.keyId}:${first.secretKey}`);
    const { rows } = await pool.query('select sealed, claimed_by from credentials where credential = $1', [name]);
    expect([rows[0].claimed_by, rows[0].sealed.toString('latin1').includes('sandbox-secret')]).toEqual([null, false]);
    expect((await run('link', '--list')).out).toBe('alpaca_paper:SIM-1001\nalpaca_paper:SIM-1002\n');
    expect(await run('link', '--remove', name)).toMatchObject({ code: 0, out: `Forgot the login ${name}.\n` });
    expect(JSON.parse((await run('link', '--list', '--json')).out)).toEqual({ logins: ['alpaca_paper:SIM-1002'] });
    const audited = await pool.query('select action, detail from audit_log order by id');
    expect(audited.rows).toEqual([
      { action: 'link', detail: { login: name } },
      { action: 'link', detail: { login: 'alpaca_paper:SIM-1002' } },
      { action: 'unlink', detail: { login: name } },
    ]);
  });

  it('puts the next pair of an account in the place of the one before', async () => {
    const { paper, env, store } = await rig();
    await linkPair(env, first);
    await control(paper, '/accounts/SIM-1001', { keyNumber: 2 });
    expect(await linkPair(env, keysOf({ id: 'SIM-1001', keyNumber: 2 }))).toMatchObject({ code: 0 });
    expect((await store.load(name))?.accessToken?.reveal()).toMatch(/-2$/);
    expect(await store.stored('')).toEqual([{ credential: name, generation: 2 }]);
  });

  it('links a live account under the name of the live stream, at its own host', async () => {
    const { live, env, store } = await rig();
    await control(live, '/accounts/SIM-1001', { keyNumber: 3 });
    const pair = keysOf({ id: 'SIM-1001', keyNumber: 3 });
    expect(await linkPair(env, pair, '--environment', 'live')).toMatchObject({
      code: 0,
      out: 'Linked alpaca:SIM-1001.\n',
    });
    const refused = await linkPair(env, pair);
    expect(refused).toEqual({
      code: 77,
      out: '',
      err: expect.stringMatching(
        /^tidemark: Alpaca refuses the key pair for paper \(http:\S+\); nothing is stored\n {2}Check both parts\. .* add --environment live\.\n$/,
      ),
    });
    expect(await store.stored('')).toEqual([{ credential: 'alpaca:SIM-1001', generation: 1 }]);
  });

  it.each([
    ['one line', { keyId: 'PK1', secretKey: '' }, [], 1, 'no key pair was given'],
    ['something else', { keyId: 'my key is', secretKey: 'PK1' }, [], 64, 'this is no key pair'],
    ['a wrong secret', { ...first, secretKey: 'wrong' }, [], 77, 'refuses the key pair'],
    ['a name', first, ['--name', 'desk'], 64, 'named by its account'],
  ])('stores nothing with %s, and says why', async (_what, pair, flags, code, said) => {
    const { env, store } = await rig();
    const linked = await linkPair(env, pair, ...flags);
    expect(linked).toMatchObject({ code, out: '', err: expect.stringContaining(said) });
    expect(linked.err).not.toContain('sandbox-secret');
    expect(await store.stored('')).toEqual([]);
  });

  it('stores nothing where Alpaca does not answer, and warns where no service would follow the account', async () => {
    const { env, store } = await rig();
    const away = await linkPair({ ...env, ALPACA_URL: 'http://127.0.0.1:1' }, first);
    expect(away).toMatchObject({ code: 69, err: expect.stringContaining('nothing is stored') });
    expect(await store.stored('')).toEqual([]);
    const { VENUES: _, ...without } = env;
    expect((await linkPair(without, first)).err).toContain('VENUES has no alpaca here');
    const io = cliIo(env);
    await runProgram(io, ['link', '--environment', 'live']);
    expect([io.code(), io.err()]).toEqual([64, expect.stringContaining('--environment is for --venue alpaca')]);
  });
});

describe('doctor on linked keys', () => {
  it('looks at each by itself, and says which one is used where the settings have the same account', async () => {
    const { paper, env, store } = await rig();
    for (const pair of [first, second]) await linkPair(env, pair);
    await control(paper, '/accounts/SIM-1002', { keyNumber: 2 });
    const doctor = async (over: Readonly<Record<string, string>> = {}) => {
      const io = cliIo({ ...env, ...over, TIDEMARK_LOG_LEVEL: 'error' });
      await runProgram(io, ['doctor', '--json']);
      expect(io.out()).not.toContain('sandbox-secret');
      const findings: { part: string; verdict: string; detail: string; fix?: string }[] = JSON.parse(io.out());
      return findings.filter(({ part }) => /^(?:alpaca|login)/.test(part));
    };
    const linked = [
      { part: `login ${name}`, verdict: 'ok', detail: 'the paper account SIM-1001 is ACTIVE' },
      { part: `login ${name} stream`, verdict: 'ok', detail: 'the sign-in succeeds' },
      {
        part: 'login alpaca_paper:SIM-1002',
        ...{ verdict: 'fail', detail: expect.stringContaining('refuses the key pair') },
        fix: 'Link a new pair: `tidemark link --venue alpaca --environment paper`.',
      },
    ];
    expect(await doctor()).toEqual(linked);
    const own = { ALPACA_KEY_ID: first.keyId, ALPACA_SECRET_KEY: first.secretKey };
    expect(await doctor(own)).toEqual([
      expect.objectContaining({ part: 'alpaca', verdict: 'ok' }),
      expect.objectContaining({ part: 'alpaca stream', verdict: 'ok' }),
      {
        ...{ part: 'alpaca', verdict: 'warn' },
        detail: `the key of the settings is not used: ${name} is linked, and has the same account`,
        fix: `Unset ALPACA_KEY_ID and ALPACA_SECRET_KEY, or remove the other: \`tidemark link --remove ${name}\`.`,
      },
      ...linked,
    ]);
    expect(await doctor({ TIDEMARK_ENCRYPTION_KEY: randomBytes(32).toString('base64') })).toMatchObject([
      { part: `login ${name}`, verdict: 'fail', fix: expect.stringContaining('tidemark link --venue alpaca') },
      { part: 'login alpaca_paper:SIM-1002', verdict: 'fail' },
    ]);
    await store.forget(name);
    await store.forget('alpaca_paper:SIM-1002');
    expect(await doctor()).toMatchObject([{ part: 'alpaca', fix: expect.stringContaining('or link one') }]);
  }, 60_000);
});

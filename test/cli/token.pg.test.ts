import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { StaticTokens } from '../../src/service/rest/auth/static-tokens.ts';
import { PostgresPrincipalStore } from '../../src/store/principals.ts';
import { storeRig } from '../support/orders/store-rig.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { freshDatabase, type TestDatabase } from '../support/servers/database.ts';
import { onServer } from '../support/servers/on-server.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database.drop());

async function run(...argv: string[]) {
  const io = cliIo({ DATABASE_URL: database.url });
  await runProgram(io, ['token', ...argv]);
  return { code: io.code(), out: io.out(), err: io.err() };
}

describe('token', () => {
  it('makes one, keeps its hash alone, lists it, and revokes it for good', async () => {
    const made = await run('add', 'risk', '--scopes', 'orders:read,ops:read', '--accounts', 'SIM-1,SIM-2');
    expect(made).toMatchObject({ code: 0, err: 'This is the only time that it is shown.\n' });
    const token = made.out.trim();
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    const rows = await onServer(
      database.url,
      async (client) => (await client.query('select * from principal_tokens')).rows,
    );
    expect(rows).toHaveLength(1);
    expect(rows[0].token_sha256.toString('hex')).toBe(createHash('sha256').update(token).digest('hex'));
    expect(JSON.stringify(rows)).not.toContain(token);

    const other = JSON.parse((await run('add', 'ui', '--scopes', 'orders:read', '--all-accounts', '--json')).out);
    expect(other).toEqual({ principal: 'ui', number: 1, token: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect((await run('ls')).out.split('\n')).toEqual([
      'PRINCIPAL  NUMBER  SCOPES                ACCOUNTS     EXPIRES',
      'risk       1       orders:read,ops:read  SIM-1,SIM-2  never',
      'ui         1       orders:read           *            never',
      '',
    ]);
    expect(JSON.parse((await run('ls', '--json')).out)).toEqual([
      {
        principal: 'risk',
        number: 1,
        scopes: ['orders:read', 'ops:read'],
        accounts: ['SIM-1', 'SIM-2'],
        expiresAt: null,
      },
      { principal: 'ui', number: 1, scopes: ['orders:read'], accounts: 'all', expiresAt: null },
    ]);

    expect(await run('revoke', 'risk')).toEqual({ code: 0, out: 'Revoked token 1 of risk.\n', err: '' });
    expect(await run('revoke', 'risk')).toMatchObject({ code: 1, out: '' });
    expect(await run('add', 'risk', '--scopes', 'orders:read', '--all-accounts')).toMatchObject({ code: 1, out: '' });
    expect((await run('ls')).out).not.toContain('risk');
  });

  it('gives a principal another token, with the rights of its last one, and ends each for itself', async () => {
    await run('add', 'desk', '--scopes', 'orders:read', '--accounts', 'SIM-1', '--expires-in', '90d');
    expect(await run('add', 'desk', '--scopes', 'orders:read', '--all-accounts')).toMatchObject({
      code: 1,
      err: expect.stringContaining('give --another'),
    });
    expect(await run('add', 'bot', '--another')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no principal bot'),
    });
    expect(JSON.parse((await run('add', 'desk', '--another', '--json')).out)).toMatchObject({
      principal: 'desk',
      number: 2,
    });
    await run('add', 'desk', '--another', '--scopes', 'ops:read');
    const listed = JSON.parse((await run('ls', '--json')).out);
    expect(listed).toMatchObject([
      { number: 1, scopes: ['orders:read'], accounts: ['SIM-1'], expiresAt: expect.stringMatching(/Z$/) },
      { number: 2, scopes: ['orders:read'], accounts: ['SIM-1'], expiresAt: null },
      { number: 3, scopes: ['ops:read'], accounts: ['SIM-1'], expiresAt: null },
    ]);

    expect(await run('revoke', 'desk', '1', '--in', '1h')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Token 1 of desk ends at \S+Z\. Until then it is valid\.$/m),
    });
    expect(await run('revoke', 'desk', '1', '--in', '2h'), 'never later').toMatchObject({ code: 1 });
    expect(await run('revoke', 'desk')).toMatchObject({
      code: 0,
      out: 'Revoked token 1 of desk.\nRevoked token 2 of desk.\nRevoked token 3 of desk.\n',
    });
    expect((await run('ls')).out).toBe('There are no tokens in the database.\n');
    expect(JSON.parse((await run('add', 'desk', '--another', '--json')).out)).toMatchObject({ number: 4 });
  });

  it('leaves each action in the audit trail, with the login that did it, and never a token or a hash', async () => {
    await run('add', 'desk', '--scopes', 'orders:read', '--accounts', 'SIM-1');
    await run('revoke', 'desk');
    const entries = await onServer(
      database.url,
      async (client) => (await client.query('select principal, action, detail from audit_log order by id')).rows,
    );
    const principal = expect.stringMatching(/^database:.+/);
    const detail = { principal: 'desk', number: 1, scopes: ['orders:read'], accounts: ['SIM-1'], expiresAt: null };
    expect(entries).toEqual([
      { principal, action: 'token_add', detail },
      { principal, action: 'token_end', detail: { ...detail, expiresAt: expect.any(String) } },
    ]);
  });

  it.each([
    [['add', 'risk', '--scopes', 'orders:read']],
    [['add', 'risk', '--scopes', 'orders:read', '--accounts', 'A', '--all-accounts']],
    [['add', 'risk', '--scopes', 'orders:delete', '--all-accounts']],
    [['add', 'jwt:risk', '--scopes', 'orders:read', '--all-accounts']],
    [['add', 'risk', '--scopes', 'orders:read', '--all-accounts', '--expires-in', '90']],
    [['revoke', 'risk', '0']],
    [['add', 'loopback', '--scopes', 'orders:read', '--all-accounts']],
    [['add', 'risk', '--scopes', 'orders:read', '--accounts', 'A,*']],
  ])('refuses %j', async (argv) => {
    expect(await run(...argv)).toMatchObject({ code: 64, out: '' });
    expect((await run('ls')).out).toBe('There are no tokens in the database.\n');
  });
});

describe('issue: After a principal got its next token, a repeated idempotency key made a second order.', () => {
  // Keys belong to the principal's name, and a name had one token: the next token was another name,
  // and the same key made a second order.
  it('a principal keeps its name, and with it its idempotency keys, under its next token', async () => {
    await using rig = await storeRig();
    const make = async (...argv: string[]) => {
      const io = cliIo({ DATABASE_URL: rig.database.url });
      await runProgram(io, ['token', ...argv]);
      expect(io.code(), io.err()).toBe(0);
      return io.out().trim();
    };
    const first = await make('add', 'desk', '--scopes', 'orders:write', '--accounts', 'SIM-1001');
    const next = await make('add', 'desk', '--another');
    const store = new PostgresPrincipalStore(rig.deps);
    const tokens = async () => {
      const known = new StaticTokens({ ...rig.deps, store }, { configured: [], refreshEveryMs: 60_000 });
      await known.start();
      known.stop();
      return [first, next].map((token) => known.find(token));
    };
    const desk = { name: 'desk', accounts: { kind: 'accounts', accountIds: ['SIM-1001'] } };
    expect(await tokens(), 'both while it changes over').toMatchObject([desk, desk]);
    await make('revoke', 'desk', '1');
    expect(await tokens()).toMatchObject([undefined, desk]);
  });
});

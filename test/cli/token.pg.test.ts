import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { cliIo } from '../support/cli-io.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { onServer } from '../support/on-server.ts';

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
    const rows = await onServer(database.url, async (client) => (await client.query('select * from principals')).rows);
    expect(rows).toHaveLength(1);
    expect(rows[0].token_sha256.toString('hex')).toBe(createHash('sha256').update(token).digest('hex'));
    expect(JSON.stringify(rows)).not.toContain(token);

    const other = JSON.parse((await run('add', 'ui', '--scopes', 'orders:read', '--all-accounts', '--json')).out);
    expect(other).toEqual({ name: 'ui', token: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect((await run('ls')).out.split('\n')).toEqual([
      'NAME  SCOPES                ACCOUNTS',
      'risk  orders:read,ops:read  SIM-1,SIM-2',
      'ui    orders:read           *',
      '',
    ]);
    expect(JSON.parse((await run('ls', '--json')).out)).toEqual([
      { name: 'risk', scopes: ['orders:read', 'ops:read'], accounts: ['SIM-1', 'SIM-2'] },
      { name: 'ui', scopes: ['orders:read'], accounts: 'all' },
    ]);

    expect(await run('revoke', 'risk')).toEqual({ code: 0, out: 'Revoked risk.\n', err: '' });
    expect(await run('revoke', 'risk')).toMatchObject({ code: 1, out: '' });
    expect(await run('add', 'risk', '--scopes', 'orders:read', '--all-accounts')).toMatchObject({ code: 1, out: '' });
    expect((await run('ls')).out).not.toContain('risk');
  });

  it.each([
    [['add', 'risk', '--scopes', 'orders:read']],
    [['add', 'risk', '--scopes', 'orders:read', '--accounts', 'A', '--all-accounts']],
    [['add', 'risk', '--scopes', 'orders:delete', '--all-accounts']],
    [['add', 'jwt:risk', '--scopes', 'orders:read', '--all-accounts']],
    [['add', 'loopback', '--scopes', 'orders:read', '--all-accounts']],
    [['add', 'risk', '--scopes', 'orders:read', '--accounts', 'A,*']],
  ])('refuses %j', async (argv) => {
    expect(await run(...argv)).toMatchObject({ code: 64, out: '' });
    expect((await run('ls')).out).toBe('There are no tokens in the database.\n');
  });
});

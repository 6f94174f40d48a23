import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { emptyDatabase, type TestDatabase } from '../support/servers/database.ts';
import { onServer } from '../support/servers/on-server.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await emptyDatabase();
});
afterEach(() => database.drop());

async function run(argv: string[], url = database.url) {
  const io = cliIo({ DATABASE_URL: url });
  await runProgram(io, ['migrate', ...argv]);
  return { code: io.code(), out: io.out(), err: io.err() };
}

describe('migrate', () => {
  it('names what it applied, and the second time finds nothing to do', async () => {
    const first = await run([]);
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(first.out).toMatch(/^applied 0000_baseline\n(applied \d{4}_\w+\n)*$/);
    expect(await run([])).toEqual({ code: 0, out: 'The schema is current; nothing to do.\n', err: '' });
  });

  it('says which grants it needs where another Tidemark made the roles, and passes with them', async () => {
    await using other = await emptyDatabase();
    expect((await run([], other.url)).code).toBe(0);
    const name = new URL(database.url).pathname.slice(1);
    const [owner, service] = [`${name}_owner`, `${name}_service`];
    const asOwner = Object.assign(new URL(database.url), { username: owner, password: 'pass' }).href;
    const ask = (sql: string) => onServer(database.url, (client) => client.query(sql));
    await ask(`create role ${owner} login createrole password 'pass'; create role ${service} login`);
    try {
      await ask(`alter database ${name} owner to ${owner}`);
      const { code, err } = await run([], asOwner);
      const grants = /^ *(grant tidemark_owner to <owner>; grant tidemark_app to <service>;)$/m.exec(err)?.[1] ?? '';
      expect([code, grants]).toEqual([77, expect.stringContaining('grant')]);
      await ask(grants.replace('<owner>', owner).replace('<service>', service));
      expect(await run([], asOwner)).toMatchObject({ code: 0, err: '' });
    } finally {
      await ask(`alter database ${name} owner to current_user; reassign owned by ${owner} to current_user`);
      await ask(`drop owned by ${owner}; drop role ${owner}; drop role ${service}`);
    }
  });

  it('is JSON for a script', async () => {
    const { applied } = JSON.parse((await run(['--json'])).out);
    expect(applied[0]).toMatch(/^0000_/);
    expect(JSON.parse((await run(['--json'])).out)).toEqual({ applied: [] });
  });

  it('makes as many shards as asked, and ends with 78 when the database has another number', async () => {
    expect((await run(['--shards', '64'])).code).toBe(0);
    const { code, err } = await run(['--shards', '16']);
    expect(code).toBe(78);
    expect(err).toBe(
      'tidemark: the database was made with 64 shards, and keeps this number\n  Leave --shards out. For another number, make another database.\n',
    );
    expect((await run(['--shards', '4097'])).err).toContain('It must be a whole number from 1 to 4096.');
  });

  it('ends with 78 when the database was migrated by a newer build', async () => {
    await run([]);
    await onServer(database.url, (client) =>
      client.query("insert into drizzle.__drizzle_migrations (hash, created_at) values ('later', 9999999999999)"),
    );
    const { code, out, err } = await run([]);
    expect([code, out]).toEqual([78, '']);
    expect(err).toBe(
      'tidemark: the database was migrated by a newer build than this one\n  Run the build that migrated it, or a newer one.\n',
    );
  });

  it('says in one sentence that there is no such database', async () => {
    const { code, err } = await run([], database.url.replace(database.name, 'no_such_database'));
    expect(code).toBe(69);
    expect(err).toMatch(
      /^tidemark: the database at \S+ can't be used: the database does not exist: .*\n {2}Correct the name at the end of DATABASE_URL/,
    );
  });
});

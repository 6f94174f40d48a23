import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkDatabase } from '../../../src/cli/doctor/check-database.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { outOfReachIds, reachableIds } from '../../support/orders/odd-ids.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { emptyDatabase, freshDatabase, type TestDatabase } from '../../support/servers/database.ts';
import { onServer } from '../../support/servers/on-server.ts';

let database: TestDatabase;
const logins: string[] = [];

beforeEach(async () => {
  database = await freshDatabase();
});

afterEach(async () => {
  for (const login of logins.splice(0))
    await onServer(database.url, (client) => client.query(`drop owned by ${login}; drop role ${login}`));
  await database.drop();
});

/** The address of the test's database for a new login, which is a member of the given role. */
async function urlOfLogin(memberOf?: string): Promise<string> {
  const login = `doctor_${database.name}`;
  await onServer(database.url, async (client) => {
    await client.query(`create role ${login} login password 'pw'`);
    if (memberOf !== undefined) await client.query(`grant ${memberOf} to ${login}`);
  });
  logins.push(login);
  const url = new URL(database.url);
  url.username = login;
  url.password = 'pw';
  return url.href;
}

async function all(url: string | undefined, env: Record<string, string> = {}) {
  const loaded = loadConfig({ ...(url !== undefined && { DATABASE_URL: url }), ...env }, () => '');
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return checkDatabase(loaded.config, { log: testLog, clock: systemClock });
}

async function examine(url: string | undefined, env: Record<string, string> = {}) {
  const findings = await all(url, env);
  return Object.fromEntries(findings.map(({ part, verdict, detail, fix }) => [part, { verdict, detail, fix }]));
}

describe('the doctor on a database', () => {
  it('finds nothing wrong for a member of tidemark_app', async () => {
    expect(await examine(await urlOfLogin('tidemark_app'))).toMatchObject({
      database: { verdict: 'ok' },
      rights: { verdict: 'ok' },
      schema: { verdict: 'ok' },
    });
  });

  it('warns of a superuser', async () => {
    expect((await examine(database.url))['rights']).toMatchObject({
      verdict: 'warn',
      fix: expect.stringContaining('tidemark_app'),
    });
  });

  it('warns of the owner of the database, who is no superuser', async () => {
    const url = await urlOfLogin();
    await onServer(database.url, (client) =>
      client.query(`alter database ${database.name} owner to doctor_${database.name}`),
    );
    const { rights } = await examine(url);
    await onServer(database.url, (client) => client.query(`alter database ${database.name} owner to current_user`));
    expect(rights).toMatchObject({ verdict: 'warn', detail: expect.stringContaining('owns the database') });
  });

  it('fails a login without the rights, and says which to grant', async () => {
    const { rights, schema } = await examine(await urlOfLogin());
    expect(rights).toMatchObject({ verdict: 'fail', fix: expect.stringContaining('grant tidemark_app to "doctor_') });
    expect(schema).toMatchObject({ verdict: 'fail', fix: expect.stringContaining('tidemark migrate') });
  });

  it('names each right that was revoked from the service, and the GRANT that gives it back', async () => {
    const url = await urlOfLogin('tidemark_app');
    expect((await examine(url))['grants']).toMatchObject({ verdict: 'ok' });
    await onServer(database.url, (client) =>
      client.query(`revoke select, insert on public.accounts from tidemark_app; revoke update (dealt_at) on public.dead_letters from tidemark_app;
        revoke execute on function public.apply_batch from tidemark_app; revoke usage on schema public from public, tidemark_app`),
    );
    const findings = (await all(url)).filter(({ part }) => part === 'grants');
    expect(findings.map(({ verdict, detail, fix }) => [verdict, detail, fix])).toEqual([
      [
        'fail',
        'tidemark_app may not USAGE on schema public',
        'As the owner: GRANT USAGE ON SCHEMA public TO tidemark_app;',
      ],
      [
        'fail',
        'tidemark_app may not SELECT, INSERT on public.accounts',
        'As the owner: GRANT SELECT, INSERT ON public.accounts TO tidemark_app;',
      ],
      [
        'fail',
        'tidemark_app may not UPDATE (dealt_at) on public.dead_letters',
        'As the owner: GRANT UPDATE (dealt_at) ON public.dead_letters TO tidemark_app;',
      ],
      [
        'fail',
        'tidemark_app may not EXECUTE on function public.apply_batch',
        'As the owner: GRANT EXECUTE ON FUNCTION public.apply_batch TO tidemark_app;',
      ],
      // It had that right through everybody, as the service did.
      [
        'fail',
        'tidemark_reader may not USAGE on schema public',
        'As the owner: GRANT USAGE ON SCHEMA public TO tidemark_reader;',
      ],
    ]);
    // What it tells to do is enough.
    await onServer(database.url, (client) =>
      client.query(findings.map(({ fix = '' }) => fix.replace('As the owner: ', '')).join(' ')),
    );
    expect((await examine(url))['grants']).toMatchObject({ verdict: 'ok' });
  });

  it('tells the rest where a look at the database is not allowed', async () => {
    const url = await urlOfLogin('tidemark_app');
    await onServer(database.url, (client) => client.query('revoke select on public.lanes from tidemark_app'));
    const found = await examine(url, { TIDEMARK_DATABASE_BUDGET_MB: '100000' });
    expect(found['grants']).toMatchObject({ verdict: 'fail', detail: expect.stringContaining('public.lanes') });
    expect(found['lanes']).toMatchObject({ verdict: 'fail', detail: expect.stringContaining('may not do that') });
    expect([found['database']?.verdict, found['disk']?.verdict]).toEqual(['ok', 'ok']);
  });

  it('fails a database that is not migrated', async () => {
    await using empty = await emptyDatabase();
    expect((await examine(empty.url))['schema']).toEqual({
      verdict: 'fail',
      detail: expect.stringMatching(/^1 migration is pending$|^\d+ migrations are pending$/),
      fix: 'Run `tidemark migrate`.',
    });
  });

  it('tells of a newer build that migrated: whether this one may run beside it, or not', async () => {
    await using ahead = await freshDatabase();
    const later = (needs: string) =>
      onServer(ahead.url, (client) =>
        client.query(`insert into drizzle.__drizzle_migrations (hash, created_at, needs) select 'later', 9e12, ${needs}
          from drizzle.__drizzle_migrations where hash <> 'later'`),
      );
    await later('max(created_at)');
    expect((await examine(ahead.url))['schema']).toMatchObject({
      verdict: 'ok',
      detail: 'migrated by a newer build, beside which this one may run',
    });
    await later('null');
    expect((await examine(ahead.url))['schema']).toMatchObject({
      verdict: 'fail',
      fix: 'Run the build that migrated it, or a newer one.',
    });
  });

  it('warns of settings under which a crash loses orders', async () => {
    await onServer(database.url, (client) =>
      client.query(`alter database ${database.name} set synchronous_commit = off`),
    );
    expect((await examine(database.url))['durability']).toMatchObject({
      verdict: 'warn',
      detail: expect.stringContaining('synchronous_commit = off'),
    });
  });

  it('warns of a lane that nobody holds while it has something to publish', async () => {
    const insert = (lane: number, age: string) =>
      onServer(database.url, (client) =>
        client.query(
          `insert into lanes (lane, holder, epoch, renewed_at) values (${lane}, 'h', 1, now() - interval '${age}')`,
        ),
      );
    await insert(3, '1 hour');
    await insert(4, '1 second');
    expect(await examine(database.url)).not.toHaveProperty('lane 3');
    await onServer(database.url, (client) =>
      client.query(
        `insert into order_updates (lane, batch, stream, order_id, account_id, revision, payload)
         values (3, 1, 'account', 'o', 'A', 1, '{}'), (4, 1, 'account', 'p', 'A', 1, '{}')`,
      ),
    );
    const found = await examine(database.url);
    expect(found['lane 3']).toMatchObject({ verdict: 'warn', fix: expect.stringContaining('If none runs, start one') });
    expect(found).not.toHaveProperty('lane 4');
  });

  it('warns of a database that has nearly taken what it may', async () => {
    expect(await examine(database.url)).not.toHaveProperty('disk');
    expect((await examine(database.url, { TIDEMARK_DATABASE_BUDGET_MB: '100000' }))['disk']).toMatchObject({
      verdict: 'ok',
    });
    expect((await examine(database.url, { TIDEMARK_DATABASE_BUDGET_MB: '1' }))['disk']).toMatchObject({
      verdict: 'warn',
      fix: expect.stringContaining('TIDEMARK_RETENTION_DAYS'),
    });
  });

  it('fails a database that only reads', async () => {
    await onServer(database.url, (client) =>
      client.query(`alter database ${database.name} set default_transaction_read_only = on`),
    );
    expect((await examine(database.url))['database']).toMatchObject({
      verdict: 'fail',
      fix: expect.stringContaining('primary'),
    });
  });

  it('fails an address where nothing answers, without the password', async () => {
    const { database: found } = await examine('postgres://app:c4n4ry@127.0.0.1:1/none');
    expect(found).toMatchObject({
      verdict: 'fail',
      detail: expect.stringMatching(/^does not answer: connection refused/),
    });
    expect(JSON.stringify(found)).not.toContain('c4n4ry');
  });

  it('fails when no address is set', async () => {
    expect(await examine(undefined)).toEqual({
      database: { verdict: 'fail', detail: 'DATABASE_URL is not set', fix: expect.any(String) },
    });
  });

  it('names open orders that no cancel can reach by their id, and no others', async () => {
    expect((await examine(database.url))['order ids']).toBeUndefined();
    await onServer(database.url, async (client) => {
      await client.query(
        `insert into accounts (stream, account_id, is_sim, source_epoch) values ('account', 'ACC-1', true, 0)`,
      );
      const ids = [...outOfReachIds, ...reachableIds];
      await client.query(
        `insert into orders (stream, order_id, lane, account_id, symbol, status, revision, state, join_state)
         select 'account', id, 0, 'ACC-1', 'KO', 'new', 1, '{}', '{}' from unnest($1::text[]) as id`,
        [ids],
      );
    });
    expect((await examine(database.url))['order ids']).toMatchObject({
      verdict: 'warn',
      detail: expect.stringMatching(
        new RegExp(`^${outOfReachIds.length} open orders can be cancelled only at the platform`),
      ),
    });
    await onServer(database.url, (client) => client.query(`update orders set status = 'canceled'`));
    expect((await examine(database.url))['order ids']).toBeUndefined();
  });
});

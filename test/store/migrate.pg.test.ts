import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { migrate } from '../../src/store/migrate.ts';
import { readMigrations, readSchemaVersion } from '../../src/store/migrations.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { testLog } from '../support/runs/test-log.ts';
import { emptyDatabase, type TestDatabase } from '../support/servers/database.ts';
import { onServer } from '../support/servers/on-server.ts';

const run = (database: TestDatabase, waitMs = 30_000) =>
  migrate({ url: database.url, log: testLog, clock: systemClock, waitMs });

async function versionOf(database: TestDatabase) {
  const pool = createPool({ log: testLog }, { url: database.url, applicationName: 'test', maxConnections: 1 });
  return readSchemaVersion(pool).finally(() => pool.end());
}

describe('the migration', () => {
  it('brings an empty database to the schema of the build, and does nothing the second time', async () => {
    await using database = await emptyDatabase();
    const tags = (await readMigrations()).map((migration) => migration.tag);
    expect(await versionOf(database)).toMatchObject({ kind: 'behind', pending: tags.map((tag) => ({ tag })) });
    expect(await run(database)).toEqual({ applied: tags });
    expect(await versionOf(database)).toEqual({ kind: 'current' });
    expect(await run(database)).toEqual({ applied: [] });
  });

  it('is applied once by several processes that start at the same moment, in two databases of one server', async () => {
    await using one = await emptyDatabase();
    await using two = await emptyDatabase();
    const done = await Promise.all([one, two, one, two].map((database) => run(database)));
    expect(done.map(({ applied }) => applied.length > 0).filter(Boolean)).toHaveLength(2);
    expect([await versionOf(one), await versionOf(two)]).toEqual([{ kind: 'current' }, { kind: 'current' }]);
  });

  it('leaves everything to tidemark_owner', async () => {
    await using database = await emptyDatabase();
    await run(database);
    const { rows } = await onServer(database.url, (client) =>
      client.query(`select relname, pg_get_userbyid(relowner) as owner from pg_class
        where relnamespace in ('public'::regnamespace, 'drizzle'::regnamespace) and pg_get_userbyid(relowner) <> 'tidemark_owner'
        union select proname, pg_get_userbyid(proowner) from pg_proc
        where pronamespace = 'public'::regnamespace and pg_get_userbyid(proowner) <> 'tidemark_owner'`),
    );
    expect(rows).toEqual([]);
  });

  it('needs no superuser: a member of tidemark_owner that owns the database will do', async () => {
    await using migrated = await emptyDatabase();
    await run(migrated);
    await using database = await emptyDatabase();
    const login = `login_${randomBytes(6).toString('hex')}`;
    const url = new URL(database.url);
    url.username = login;
    url.password = 'pw';
    await onServer(database.url, async (client) => {
      await client.query(`create role ${login} login password 'pw' in role tidemark_owner`);
      await client.query(`alter database ${database.name} owner to ${login}`);
    });
    const { applied } = await migrate({ url: url.href, log: testLog, clock: systemClock });
    await onServer(database.url, async (client) => {
      await client.query(`reassign owned by ${login} to current_user`);
      await client.query(`drop owned by ${login}`);
      await client.query(`drop role ${login}`);
    });
    expect(applied).toHaveLength((await readMigrations()).length);
  });

  it('makes the shards once, and refuses another number later', async () => {
    await using database = await emptyDatabase();
    const options = { url: database.url, log: testLog, clock: systemClock };
    await migrate({ ...options, shards: 3 });
    await migrate(options);
    await migrate({ ...options, shards: 3 });
    await expect(migrate({ ...options, shards: 4 })).rejects.toMatchObject({
      ...{
        code: 'SHARDS_FIXED',
        retryable: false,
        message: 'the database was made with 3 shards, and keeps this number',
      },
    });
    const shards = await onServer(database.url, (client) =>
      client.query('select shard, lane, epoch from shards order by shard'),
    );
    expect(shards.rows).toEqual([0, 1, 2].map((shard) => ({ shard, lane: null, epoch: '0' })));
  });

  it('refuses a database that a newer build migrated', async () => {
    await using database = await emptyDatabase();
    await run(database);
    await onServer(database.url, (client) =>
      client.query("insert into drizzle.__drizzle_migrations (hash, created_at) values ('later', 9000000000000)"),
    );
    await expect(run(database)).rejects.toMatchObject({ code: 'SCHEMA_NEWER', retryable: false });
    expect(await versionOf(database)).toEqual({ kind: 'newer' });
  });

  it('has nothing to do where a newer build migrated and said that this one may run on', async () => {
    await using database = await emptyDatabase();
    await run(database);
    const newest = (await readMigrations()).at(-1)?.when;
    await onServer(database.url, (client) =>
      client.query(
        "insert into drizzle.__drizzle_migrations (hash, created_at, needs) values ('later', 9000000000000, $1)",
        [newest],
      ),
    );
    expect(await versionOf(database)).toEqual({ kind: 'ahead', by: 1 });
    expect(await run(database)).toEqual({ applied: [] });
  });

  it('reads the books of a build that did not yet keep which older ones may run on', async () => {
    await using database = await emptyDatabase();
    await run(database);
    const last = (await readMigrations()).at(-1);
    await onServer(database.url, async (client) => {
      await client.query('alter table drizzle.__drizzle_migrations drop column needs');
      await client.query('delete from drizzle.__drizzle_migrations where created_at = $1', [last?.when]);
    });
    expect(await versionOf(database)).toMatchObject({ kind: 'behind', pending: [{ tag: last?.tag }] });
  });

  it('that no older build may run beside is not applied while one holds a lane, and fences one that seemed to be gone', async () => {
    await using database = await emptyDatabase();
    await run(database);
    const when = 9_000_000_000_000;
    const breaking = {
      tag: '9000_breaking',
      when,
      hash: 'breaking',
      statements: ['alter table lanes rename renewed_at to seen_at'],
    };
    const newer = {
      url: database.url,
      log: testLog,
      clock: systemClock,
      migrations: [...(await readMigrations()), breaking],
    };
    await onServer(database.url, (client) =>
      client.query("insert into lanes (lane, holder, epoch, renewed_at) values (4, 'older', 7, clock_timestamp())"),
    );
    const message = 'older holds lane 4, and its build cannot go on beside this migration';
    await expect(migrate(newer)).rejects.toMatchObject({ code: 'LANE_HELD', retryable: true, message });
    expect(await versionOf(database), 'nothing was applied').toEqual({ kind: 'current' });

    await onServer(database.url, (client) => client.query("update lanes set renewed_at = now() - interval '1 minute'"));
    expect(await migrate(newer)).toEqual({ applied: ['9000_breaking'] });
    expect(await versionOf(database)).toEqual({ kind: 'newer' });
    const { rows } = await onServer(database.url, (client) => client.query('select holder, epoch::int from lanes'));
    expect(rows, 'who wakes under epoch 7 writes nothing').toEqual([{ holder: null, epoch: 8 }]);
  });

  it('beside which older builds may run leaves their holder the lane', async () => {
    await using database = await emptyDatabase();
    await run(database);
    const build = await readMigrations();
    const when = 9_000_000_000_000;
    const needs = build.at(-1)?.when ?? 0;
    const adding = {
      tag: '9000_adding',
      when,
      needs,
      hash: 'adding',
      statements: ['alter table orders add column later text'],
    };
    await onServer(database.url, (client) =>
      client.query("insert into lanes (lane, holder, epoch, renewed_at) values (0, 'older', 7, clock_timestamp())"),
    );
    const newer = { url: database.url, log: testLog, clock: systemClock, migrations: [...build, adding] };
    expect(await migrate(newer)).toEqual({ applied: ['9000_adding'] });
    expect(await versionOf(database)).toEqual({ kind: 'ahead', by: 1 });
    const { rows } = await onServer(database.url, (client) => client.query('select holder, epoch::int from lanes'));
    expect(rows).toEqual([{ holder: 'older', epoch: 7 }]);
  });

  it('refuses a database in which something else was applied under the same name', async () => {
    await using database = await emptyDatabase();
    await run(database);
    await onServer(database.url, (client) => client.query("update drizzle.__drizzle_migrations set hash = 'edited'"));
    await expect(run(database)).rejects.toMatchObject({ code: 'SCHEMA_FOREIGN', retryable: false });
  });

  it('leaves nothing of a migration that failed', async () => {
    await using database = await emptyDatabase();
    await onServer(database.url, (client) => client.query('create table quarantine ()'));
    await expect(run(database)).rejects.toMatchObject({ code: '42P07' });
    const { rows } = await onServer(database.url, (client) =>
      client.query("select to_regclass('public.accounts') as found"),
    );
    expect(rows).toEqual([{ found: null }]);
    await onServer(database.url, (client) => client.query('drop table quarantine'));
    expect((await run(database)).applied).toHaveLength((await readMigrations()).length);
  });

  it('gives up after its time when somebody else holds the lock', async () => {
    await using database = await emptyDatabase();
    await onServer(database.url, async (client) => {
      await client.query('select pg_advisory_lock(7215033418)');
      await expect(run(database, 200)).rejects.toMatchObject({ code: 'MIGRATION_BUSY', retryable: true });
    });
    expect((await run(database)).applied).not.toEqual([]);
  });
});

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { checkDatabase } from '../../src/cli/doctor/check-database.ts';
import { runProgram } from '../../src/cli/program.ts';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { migrate } from '../../src/store/migrate.ts';
import { readMigrations, readSchemaVersion } from '../../src/store/migrations.ts';
import { ownershipFaults } from '../../src/store/ownership.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { silentLog } from '../support/runs/silent-log.ts';
import { testLog } from '../support/runs/test-log.ts';
import { buildsOfBefore, firstBuildDatabase } from '../support/schema/builds-of-before.ts';
import { emptyDatabase, freshDatabase, type TestDatabase } from '../support/servers/database.ts';
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

describe('issue: After five minutes the migration of a large journal ended, and nothing was changed.', () => {
  const limits = `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
  current_setting('client_connection_check_interval') as client`;
  const ofCopies = { statement: '12h', lock: '5s', client: '5s' };

  /** A build whose next migration notes its limits, in a statement and in a check. */
  const copying = (statements: readonly string[]) => ({
    tag: '9000_copying',
    when: 9_000_000_000_000,
    hash: 'copying',
    statements,
  });

  it('a statement of a migration has hours, waits for no lock longer than before, and ends with its process', async () => {
    await using database = await emptyDatabase();
    const options = { url: database.url, log: testLog, clock: systemClock };
    const migrations = [...(await readMigrations()), copying([`create table seen as ${limits}`])];
    expect((await migrate({ ...options, migrations })).applied).toContain('9000_copying');
    const { rows } = await onServer(database.url, (client) => client.query('select * from seen'));
    expect(rows).toEqual([ofCopies]);
  });

  it('the check of a constraint over all rows has hours too', async () => {
    await using database = await emptyDatabase();
    const options = { url: database.url, log: testLog, clock: systemClock };
    const notes = `create function noted() returns boolean language plpgsql as $$ begin insert into seen ${limits}; return true; end $$`;
    const migrations = [
      ...(await readMigrations()),
      copying([
        `create table seen as ${limits} limit 0`,
        notes,
        'create table large as select 1 as n',
        'alter table large add constraint noted check (noted()) not valid',
      ]),
    ];
    await migrate({ ...options, migrations });
    const { rows } = await onServer(database.url, (client) => client.query('select * from seen'));
    expect(rows).toEqual([ofCopies]);
  });

  it('a statement that fails leaves its own words', async () => {
    await using database = await emptyDatabase();
    const options = { url: database.url, log: testLog, clock: systemClock };
    const migrations = [...(await readMigrations()), copying(['select 1 / 0'])];
    await expect(migrate({ ...options, migrations })).rejects.toMatchObject({ code: '22012' });
    expect((await migrate({ ...options })).applied).toEqual([]);
  });
});

describe('issue: The next build called the database foreign, and only a new database helped.', () => {
  async function run(url: string): Promise<{ code: number | undefined; said: string }> {
    const io = cliIo({ DATABASE_URL: url });
    await runProgram(io, ['migrate']);
    return { code: io.code(), said: io.out() + io.err() };
  }

  it.each(buildsOfBefore)('a database of $build is migrated once its last process is gone', async ({ make }) => {
    await using database = await make();
    await onServer(database.url, (client) => client.query('update lanes set renewed_at = now()'));
    const held = await run(database.url);
    expect(held.code).toBe(69);
    expect(held.said).toContain('one holds lane 0, and its build cannot go on beside this migration');

    await onServer(database.url, (client) => client.query("update lanes set renewed_at = now() - interval '1 minute'"));
    expect(await run(database.url)).toEqual({ code: 0, said: 'applied 0001_written_once\napplied 0002_one_answer\n' });
    expect(await run(database.url)).toEqual({ code: 0, said: 'The schema is current; nothing to do.\n' });
  });

  it('no constraint waits for its check after `tidemark migrate`', async () => {
    await using database = await firstBuildDatabase();
    await run(database.url);
    const { rows } = await onServer(database.url, (client) =>
      client.query('select conname from pg_constraint where not convalidated'),
    );
    expect(rows).toEqual([]);
  });

  it('a database of any other baseline is refused, with what to do, and stays as it is', async () => {
    await using database = await firstBuildDatabase();
    const books = () =>
      onServer(database.url, (client) => client.query('select hash from drizzle.__drizzle_migrations'));
    await onServer(database.url, (client) =>
      client.query("update drizzle.__drizzle_migrations set hash = 'b509612c00'"),
    );
    const { code, said } = await run(database.url);
    expect(code).toBe(78);
    expect(said).toContain('0000_baseline was another one when it was applied (sha256 b509612c)');
    expect(said).toContain('begin with a new database and another TIDEMARK_TOPIC_PREFIX');
    expect((await books()).rows).toEqual([{ hash: 'b509612c00' }]);
  });
});

describe('issue: `tidemark doctor` found nothing wrong in a restored database with wrong owners.', () => {
  function configOf(url: string): Config {
    const loaded = loadConfig({ DATABASE_URL: url }, () => '');
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
    return loaded.config;
  }

  async function lookAt(url: string): Promise<{ part: string; verdict: string; detail: string; fix?: string }[]> {
    const found = await checkDatabase(configOf(url), { log: silentLog, clock: systemClock });
    return found.filter(({ part, verdict }) => (part === 'owners' || part === 'grants') && verdict !== 'ok');
  }

  /**
   * Each kind of damage: the statement, what doctor says of it, and the
   * statement that it says, which has to end it.
   */
  const damages: [kind: string, damage: string, detail: RegExp][] = [
    [
      'a table',
      'alter table public.orders owner to STRANGER',
      /^table public\.orders belongs to STRANGER, and tidemark_owner is expected$/,
    ],
    [
      'a partition',
      'PARTITION',
      /^table public\.order_updates_\w+ belongs to STRANGER, and tidemark_owner is expected$/,
    ],
    [
      'a sequence',
      'alter sequence public.order_updates_seq owner to STRANGER',
      /^sequence public\.order_updates_seq belongs to STRANGER/,
    ],
    [
      'a function',
      'alter function public.lane_batch owner to STRANGER',
      /^function public\.lane_batch\(.*\) belongs to STRANGER/,
    ],
    [
      'a function that writes',
      'alter function public.apply_batch owner to STRANGER',
      /^function public\.apply_batch\(.*\) belongs to/,
    ],
    [
      'whom a function runs as',
      'alter function public.apply_batch security invoker',
      /apply_batch\(.*\) runs as its caller, and its owner is/,
    ],
    [
      'a function that gained its owner',
      'alter function public.append_journal security definer',
      /append_journal\(.*\) runs as its owner/,
    ],
    ['the schema of the books', 'alter schema drizzle owner to STRANGER', /^schema drizzle belongs to STRANGER/],
    [
      'the books',
      'alter table drizzle.__drizzle_migrations owner to STRANGER',
      /^table drizzle\.__drizzle_migrations belongs to STRANGER/,
    ],
    [
      'default privileges',
      'alter default privileges for role tidemark_owner grant execute on functions to public',
      /^default privileges of/,
    ],
    [
      'the schema public',
      'revoke create on schema public from tidemark_owner',
      /^tidemark_owner may not create in schema public/,
    ],
    ['a schema open to all', 'grant create on schema public to public', /^every role may create in schema public/],
    [
      'a function open to all',
      'grant execute on function public.apply_batch to public',
      /^every role may EXECUTE on function public\.apply_batch/,
    ],
    [
      'a right too many',
      'grant insert on public.orders to tidemark_app',
      /^tidemark_app may INSERT on table public\.orders, and no such/,
    ],
    [
      'a column too many',
      'grant update (state) on public.orders to tidemark_app',
      /^tidemark_app may UPDATE \(state\) on table public\.orders/,
    ],
    [
      'a right too few',
      'revoke select on public.orders from tidemark_app',
      /^tidemark_app may not SELECT on public\.orders$/,
    ],
    [
      'a column too few',
      'revoke update (lane) on public.shards from tidemark_app',
      /^tidemark_app may not UPDATE \(.*\) on public\.shards$/,
    ],
    [
      'a function too few',
      'revoke execute on function public.apply_batch from tidemark_app',
      /^tidemark_app may not EXECUTE on function/,
    ],
    [
      'a reader',
      'revoke select on public.orders from tidemark_reader',
      /^tidemark_reader may not SELECT on public\.orders$/,
    ],
    [
      'the books of a reader',
      'revoke usage on schema drizzle from tidemark_reader',
      /^tidemark_reader may not USAGE on schema drizzle$/,
    ],
  ];

  it.each(damages)('doctor names %s, and its statement puts it right', async (_, damage, detail) => {
    await using database = await freshDatabase();
    const stranger = `stranger_${randomBytes(4).toString('hex')}`;
    await onServer(database.url, async (client) => {
      const { rows } = await client.query(
        "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'public.order_updates'::regclass",
      );
      const partition = `alter table ${rows[0].name} owner to STRANGER`;
      await client.query(`create role ${stranger}`);
      await client.query((damage === 'PARTITION' ? partition : damage).replace('STRANGER', stranger));
    });
    try {
      const named = await lookAt(database.url);
      const wanted = new RegExp(detail.source.replaceAll('STRANGER', stranger));
      expect(named).toContainEqual(expect.objectContaining({ verdict: 'fail', detail: expect.stringMatching(wanted) }));
      for (const { fix = '' } of named)
        await onServer(database.url, (client) => client.query(fix.replace(/^[^:]*: /, '')));
      expect(await lookAt(database.url)).toEqual([]);
    } finally {
      await onServer(database.url, (client) => client.query(`drop owned by ${stranger}; drop role ${stranger}`));
    }
  });

  it('doctor knows every table, view and function that the migrations made, also a later one', async () => {
    await using database = await freshDatabase();
    const stranger = `stranger_${randomBytes(4).toString('hex')}`;
    try {
      const names = await onServer(database.url, async (client) => {
        await client.query(`create role ${stranger}`);
        const { rows } = await client.query<{ kind: string; name: string }>(
          `select case when c.relkind = 'v' then 'view' else 'table' end as kind, format('public.%I', c.relname) as name from pg_class c
         where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
         union all select 'function', format('public.%I', p.proname) from pg_proc p where p.pronamespace = 'public'::regnamespace`,
        );
        for (const { kind, name } of rows) await client.query(`alter ${kind} ${name} owner to ${stranger}`);
        return rows.map(({ kind, name }) => `${kind} ${name}`);
      });
      const told = (await lookAt(database.url)).map(({ detail }) => detail).join('\n');
      expect(names.filter((name) => !told.includes(name))).toEqual([]);
      expect(names.length).toBeGreaterThan(90);
    } finally {
      await onServer(database.url, (client) =>
        client.query(`drop owned by ${stranger} cascade; drop role ${stranger}`),
      );
    }
  });

  it('finds nothing in a database as the migrations make it, whatever other people have in it', async () => {
    await using database = await freshDatabase();
    await onServer(database.url, (client) =>
      client.query(
        'create table public.of_a_person (a integer); grant all on public.of_a_person to public; create view public.mine as select 1 as one',
      ),
    );
    const pool = createPool({ log: silentLog }, { url: database.url, applicationName: 'test', maxConnections: 1 });
    try {
      expect(await ownershipFaults(pool)).toEqual([]);
    } finally {
      await pool.end();
    }
    expect(await lookAt(database.url)).toEqual([]);
  });

  it('a migration names the table of another owner before it changes anything', async () => {
    await using database = await freshDatabase();
    await onServer(database.url, (client) => client.query('alter table public.orders owner to current_user'));
    const run = migrate({ url: database.url, log: silentLog, clock: systemClock });
    await expect(run).rejects.toMatchObject({
      code: 'OWNERS',
      message: expect.stringMatching(/^table orders belongs to .*tidemark_owner is expected/),
    });
  });
});

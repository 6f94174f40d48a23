// What a user saw: `tidemark doctor` found nothing wrong in a restored database with wrong owners.

import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { checkDatabase } from '../../../src/cli/doctor/check-database.ts';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { ownershipFaults } from '../../../src/store/ownership.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { freshDatabase } from '../../support/servers/database.ts';
import { onServer } from '../../support/servers/on-server.ts';

function configOf(url: string): Config {
  const loaded = loadConfig({ DATABASE_URL: url }, () => '');
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return loaded.config;
}

async function lookAt(url: string): Promise<{ part: string; verdict: string; detail: string; fix?: string }[]> {
  const found = await checkDatabase(configOf(url), silentLog);
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
  ['a partition', 'PARTITION', /^table public\.order_updates_\w+ belongs to STRANGER, and tidemark_owner is expected$/],
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
    'alter function public.open_command security definer',
    /open_command\(.*\) runs as its owner/,
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
    await onServer(database.url, (client) => client.query(`drop owned by ${stranger} cascade; drop role ${stranger}`));
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

import { execFileSync } from 'node:child_process';
import { mkdtempDisposableSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { streams } from '../../src/domain/order.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { migrate } from '../../src/store/migrate.ts';
import { testLog } from '../support/runs/test-log.ts';
import { buildsOfBefore, migrateFurther } from '../support/schema/builds-of-before.ts';
import { joinPieces } from '../support/schema/join-schema.ts';
import { emptyDatabase, freshDatabase } from '../support/servers/database.ts';
import { onServer } from '../support/servers/on-server.ts';

const head = `-- The schema as it stands after all migrations, read back from a migrated database: tables with their constraints, indexes, triggers and rights, then functions.
-- To be read, not to be run. Where it differs: npx vitest run -u --project pg test/store/golden-schema.pg.test.ts
`;

/**
 * One text for each table, then one for each function, by name. The log's
 * partitions come and go, and are left out.
 */
const describeSchema = `
with tables as (
  select c.oid, c.relname, c.relkind, c.reloptions, c.relacl from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
), lines as (
  select t.oid, 1 as part, a.attnum::text as place,
    format('  %s %s%s%s', a.attname::text, format_type(a.atttypid, a.atttypmod),
      case when a.attnotnull then ' not null' else '' end,
      case when a.attidentity <> '' then ' generated always as identity' when a.attgenerated <> '' then format(' generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid))
        when d.adbin is not null then format(' default %s', pg_get_expr(d.adbin, d.adrelid)) else '' end) as line, a.attnum::int as sort
  from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
  union all
  select t.oid, 2, k.conname::text, format('  constraint %s %s', k.conname, pg_get_constraintdef(k.oid)), 0
  from tables t join pg_constraint k on k.conrelid = t.oid and k.contype <> 'n'
  union all
  select t.oid, 3, i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid), 0
  from tables t join pg_index i on i.indrelid = t.oid where not exists (select from pg_constraint k where k.conindid = i.indexrelid)
  union all
  select t.oid, 4, g.tgname::text, pg_get_triggerdef(g.oid), 0 from tables t join pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal
  union all
  select t.oid, 5, r.grantee, format('grant %s to %s', r.privileges, r.grantee), 0 from tables t cross join lateral (
    select x.grantee::regrole::text as grantee, string_agg(lower(x.privilege_type), ', ' order by x.privilege_type) as privileges
    from aclexplode(t.relacl) x where x.grantee <> (select relowner from pg_class where oid = t.oid) group by x.grantee) r
  union all
  select t.oid, 6, r.grantee || r.privilege, format('grant %s (%s) to %s', r.privilege, r.columns, r.grantee), 0 from tables t cross join lateral (
    select x.grantee::regrole::text as grantee, lower(x.privilege_type) as privilege, string_agg(a.attname, ', ' order by a.attnum) as columns
    from pg_attribute a cross join lateral aclexplode(a.attacl) x where a.attrelid = t.oid and not a.attisdropped group by 1, 2) r
)
select text from (
select format(E'table %s%s%s\\n%s', t.relname, case when t.relkind = 'p' then ' ' || lower(pg_get_partkeydef(t.oid)) else '' end,
    coalesce(' with (' || array_to_string(t.reloptions, ', ') || ')', ''), string_agg(l.line, E'\\n' order by l.part, l.sort, l.place collate "C")) as text, 1 as kind, t.relname::text as name
from tables t join lines l on l.oid = t.oid group by t.oid, t.relname, t.relkind, t.reloptions
union all
select pg_get_functiondef(p.oid) || coalesce((select E'grant execute to ' || string_agg(x.grantee::regrole::text, ', ' order by x.grantee::regrole::text collate "C")
    from aclexplode(p.proacl) x where x.grantee <> p.proowner), ''), 2, p.oid::regprocedure::text
from pg_proc p where p.pronamespace = 'public'::regnamespace
) all_of_it order by kind, name collate "C"`;

async function schemaOf(url: string): Promise<string[]> {
  const { rows } = await onServer(url, (client) => client.query<{ text: string }>(describeSchema));
  expect(rows.length).toBeGreaterThan(30);
  return rows.map(({ text }) => text.trimEnd());
}

it('drizzle/schema.sql is what the migrations make', async () => {
  await using database = await freshDatabase();
  const schema = await schemaOf(database.url);
  await expect(`${head}\n${schema.join('\n\n')}\n`).toMatchFileSnapshot('../../drizzle/schema.sql');
});

/**
 * As drizzle-kit makes it from src/store/schema, which can't say that a table has partitions. Its
 * `export` does not know the casing.
 */
function tablesOfSchema(): string {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'tidemark-drizzle-'));
  const args = ['tools/checks/run.ts', 'drizzle-kit', 'generate', '--dialect', 'postgresql', '--casing', 'snake_case'];
  const places = ['--schema', './src/store/schema', '--out', relative(process.cwd(), folder.path)];
  execFileSync(process.execPath, [...args, ...places], { timeout: 120_000 });
  const [file = ''] = readdirSync(folder.path).filter((name) => name.endsWith('.sql'));
  const ddl = readFileSync(join(folder.path, file), 'utf8');
  const partitioned = ddl.replace(/(CREATE TABLE "order_updates" [^;]*);/, '$1 PARTITION BY RANGE (seq);');
  expect(partitioned).not.toBe(ddl);
  return partitioned;
}

it('the tables of src/store/schema with the pieces of src/store/sql are the schema that the migrations make', async () => {
  await using joined = await emptyDatabase();
  await using migrated = await freshDatabase();
  await migrate({ url: joined.url, log: testLog, clock: systemClock, rolesOnly: true });
  await onServer(joined.url, (client) => client.query(`set role tidemark_owner; ${joinPieces(tablesOfSchema())}`));
  expect(await schemaOf(migrated.url)).toEqual(await schemaOf(joined.url));
});

it.each(buildsOfBefore)('a database of $build, migrated, has the schema of a new one', async ({ make }) => {
  await using before = await make();
  await using made = await freshDatabase();
  await migrateFurther(before);
  expect(await schemaOf(before.url)).toEqual(await schemaOf(made.url));
});

it('the streams in SQL are those of the domain', async () => {
  const { url } = await freshDatabase();
  const { rows } = await onServer(url, (client) => client.query<{ streams: string[] }>('select public.streams()'));
  expect(rows).toEqual([{ streams }]);
});

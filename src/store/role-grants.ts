import type { Pool } from 'pg';
import { type Migration, readMigrations } from './migrations.ts';

/** Group roles with rights on `tidemark_owner`'s objects. */
export type GrantedRole = 'tidemark_app' | 'tidemark_reader';

/** One right the migrations give a role. */
interface RoleGrant {
  /** `SELECT`, `EXECUTE`, `UPDATE (dealt_at)`. */
  readonly privilege: string;
  /** `public.orders`, `FUNCTION public.apply_batch`, `SCHEMA public`, `SEQUENCE public.…`. */
  readonly on: string;
}

/** What an object's kind is, before its name in `RoleGrant.on`. A table has none. */
const kind = /^(SCHEMA|FUNCTION|SEQUENCE) /;

const grant = /^\s*GRANT\s+([^;]+?)\s+ON\s+(FUNCTION\s+|SCHEMA\s+|SEQUENCE\s+)?([^;]+?)\s+TO\s+([^;]+);/gim;

/**
 * A role's rights by the migrations' GRANTs, read from the migrations themselves. A separate list
 * would be wrong one day.
 */
export function roleGrants(migrations: readonly Pick<Migration, 'statements'>[], role: GrantedRole): RoleGrant[] {
  return migrations
    .flatMap(({ statements }) => statements)
    .flatMap((text) => [...text.matchAll(grant)])
    .filter(([, , , , to = '']) => to.split(',').some((name) => name.trim() === role))
    .flatMap(([, privileges = '', kind = '', objects = '']) =>
      split(objects).flatMap((object) =>
        split(privileges).map((privilege) => ({ privilege, on: `${kind.trim().toUpperCase()} ${object}`.trim() })),
      ),
    );
}

/** The rights on drizzle's table of migrations. The runner makes that table (`ensureBooks`). */
const bookGrants: readonly RoleGrant[] = [
  { privilege: 'USAGE', on: 'SCHEMA drizzle' },
  { privilege: 'SELECT', on: 'drizzle.__drizzle_migrations' },
];

/**
 * Every right a role has in a database as the migrations leave it. Each migration grants all of
 * them anew; those before it may name what is gone.
 */
export async function plannedGrants(role: GrantedRole): Promise<RoleGrant[]> {
  return [...roleGrants((await readMigrations()).slice(-1), role), ...bookGrants];
}

/** `public.orders`, of whatever kind it is. */
export function objectOf({ on }: RoleGrant): string {
  return on.replace(kind, '');
}

/** Splits at the commas outside parentheses. */
function split(list: string): string[] {
  return list.split(/,(?![^(]*\))/).map((part) => part.trim().replace(/\s+/g, ' '));
}

/**
 * The grants the role does not have in this database. If its object is missing, a grant counts as
 * not granted. Reads only the catalog: to resolve names would need more rights. Rejects when the
 * database can't be reached.
 */
export async function missingGrants(pool: Pool, role: GrantedRole): Promise<RoleGrant[]> {
  const grants = await plannedGrants(role);
  const { rows } = await pool.query<{ at: string }>(
    `with wanted as (
       select w.at, w.kind, w.privilege, w.columns, (select n.oid from pg_namespace n where n.nspname = split_part(w.object, '.', 1)) as schema, split_part(w.object, '.', 2) as name
       from unnest($1::text[], $2::text[], $3::text[], $4::text[]) with ordinality as w(kind, privilege, columns, object, at)
     ), found as (
       select w.*, (select c.oid from pg_class c where c.relnamespace = w.schema and c.relname = w.name) as class from wanted w
     )
     select at from found where not exists (select from pg_roles where rolname = $5::name) or not coalesce(case
       when kind = 'SCHEMA' then has_schema_privilege($5::name, schema, privilege)
       when kind = 'FUNCTION' then (select bool_and(has_function_privilege($5::name, p.oid, privilege)) from pg_proc p where p.proname = name and p.pronamespace = schema)
       when kind = 'SEQUENCE' then has_sequence_privilege($5::name, class, privilege)
       when columns = '' then has_table_privilege($5::name, class, privilege)
       else (select bool_and(has_column_privilege($5::name, class, trim(c), privilege)) from unnest(string_to_array(columns, ',')) as c)
     end, false) order by at`,
    [
      grants.map(({ on }) => kind.exec(on)?.[1] ?? 'TABLE'),
      grants.map(({ privilege }) => privilege.replace(/ ?\(.*/, '')),
      grants.map(({ privilege }) => /\((.*)\)/.exec(privilege)?.[1] ?? ''),
      grants.map(objectOf),
      role,
    ],
  );
  return rows.flatMap(({ at }) => grants[Number(at) - 1] ?? []);
}

import type { Pool } from 'pg';
import { readMigrations } from './migrations.ts';
import { type GrantedRole, objectOf, plannedGrants } from './role-grants.ts';

/** Something in the database with the wrong owner, or with a right the role should not have. */
interface OwnershipFault {
  readonly part: 'owners' | 'grants';
  /** One sentence: the object, its state, the expected state. */
  readonly detail: string;
  /** The statement that puts it right. */
  readonly statement: string;
}

const owner = 'tidemark_owner';

/**
 * Our own objects' names, read from the migrations. A database may have others, and they are not
 * our business.
 */
async function ourObjects(): Promise<{ relations: string[]; functions: string[]; definers: string[] }> {
  const text = (await readMigrations()).flatMap(({ statements }) => statements).join('\n');
  const relations = text.matchAll(
    /^(?:CREATE (?:OR REPLACE )?(?:TABLE|SEQUENCE|VIEW) public\.|ALTER TABLE public\.\w+ RENAME TO )(\w+)/gm,
  );
  // A later migration may define a function again: its last definition says what it is.
  const functions = new Map<string, boolean>();
  for (const [header, name = ''] of text.matchAll(
    /^CREATE (?:OR REPLACE )?FUNCTION public\.(\w+)(?:(?!\$\$)[\s\S])*?(?:\$\$|;)/gm,
  ))
    functions.set(name, header.includes('SECURITY DEFINER'));
  return {
    relations: [...new Set([...relations].map(([, name = '']) => name))],
    functions: [...functions.keys()],
    definers: [...functions].filter(([, isDefiner]) => isDefiner).map(([name]) => name),
  };
}

/**
 * Our tables, partitions, sequences and functions, with drizzle's schema and its table of
 * migrations.
 */
const ours = `with relations as (
    select c.oid, c.relkind, c.relname, c.relnamespace, c.relowner, c.relacl from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'S', 'v') and (n.nspname = 'drizzle' or n.nspname = 'public' and c.relname = any($1))
  ), all_relations as (
    select * from relations
    union select c.oid, c.relkind, c.relname, c.relnamespace, c.relowner, c.relacl
    from pg_inherits i join relations r on r.oid = i.inhparent join pg_class c on c.oid = i.inhrelid
    union select c.oid, c.relkind, c.relname, c.relnamespace, c.relowner, c.relacl
    from pg_depend d join relations r on r.oid = d.refobjid join pg_class c on c.oid = d.objid and c.relkind = 'S'
    where d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i')
  ), objects as (
    select case r.relkind when 'S' then 'sequence' when 'v' then 'view' else 'table' end as kind, format('%I.%I', n.nspname, r.relname) as name,
      t.through, r.relowner as owner, r.relacl as acl, r.oid, false as definer
    from all_relations r join pg_namespace n on n.oid = r.relnamespace left join lateral (
      select format('table %s', d.refobjid::regclass) as through from pg_depend d
      where r.relkind = 'S' and d.classid = 'pg_class'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i') limit 1
    ) t on true
    union all
    select 'function', format('%I.%I(%s)', 'public', proname, pg_get_function_identity_arguments(p.oid)), null, proowner,
      coalesce(proacl, acldefault('f', proowner)), oid, prosecdef
    from pg_proc p where pronamespace = 'public'::regnamespace and proname = any($2)
    union all
    select 'schema', nspname::text, null, nspowner, coalesce(nspacl, acldefault('n', nspowner)), oid, false from pg_namespace where nspname = 'drizzle'
  )`;

/**
 * Compares everything's owners and rights with those the migrations make. A restore without its
 * roles, or a change by hand, leaves others, and the service runs on until the next migration.
 * Reads the catalog alone, as every login may. For missing rights: `missingGrants`.
 */
export async function ownershipFaults(pool: Pool): Promise<OwnershipFault[]> {
  const { relations, functions, definers } = await ourObjects();
  return [
    ...(await wrongOwners(pool, relations, functions)),
    ...(await wrongDefiners(pool, functions, definers)),
    ...(await wrongDefaults(pool)),
    ...(await wrongSchema(pool)),
    ...(await wrongRights(pool, relations, functions)),
  ];
}

async function wrongOwners(pool: Pool, relations: string[], functions: string[]): Promise<OwnershipFault[]> {
  const { rows } = await pool.query<{ kind: string; name: string; through: string | null; seen: string }>(
    `${ours} select kind, name, through, pg_get_userbyid(owner) as seen from objects
     where pg_get_userbyid(owner) <> '${owner}' order by kind = 'schema' desc, kind, name`,
    [relations, functions],
  );
  return rows.map(({ kind, name, through, seen }) => ({
    part: 'owners',
    detail: `${kind} ${name} belongs to ${seen}, and ${owner} is expected`,
    // A column's sequence goes with its table.
    statement: `ALTER ${through ?? `${kind} ${name}`} OWNER TO ${owner};`,
  }));
}

/** A function that writes behind the fences has to run as its owner, and no other one may. */
async function wrongDefiners(pool: Pool, functions: string[], definers: string[]): Promise<OwnershipFault[]> {
  const { rows } = await pool.query<{ name: string; definer: boolean }>(
    `${ours} select name, definer from objects where kind = 'function'
     and definer <> (split_part(split_part(name, '.', 2), '(', 1) = any($3)) order by name`,
    [[], functions, definers],
  );
  return rows.map(({ name, definer }) => {
    const [seen, expected] = definer ? ['its owner', 'its caller'] : ['its caller', 'its owner'];
    const statement = `ALTER FUNCTION ${name} SECURITY ${definer ? 'INVOKER' : 'DEFINER'};`;
    return { part: 'owners', detail: `function ${name} runs as ${seen}, and ${expected} is expected`, statement };
  });
}

/** The baseline takes EXECUTE from everybody for each function made later. */
async function wrongDefaults(pool: Pool): Promise<OwnershipFault[]> {
  const { rows } = await pool.query<{ whole: boolean }>(
    `select exists (select from pg_default_acl d where pg_get_userbyid(d.defaclrole) = '${owner}' and d.defaclobjtype = 'f' and d.defaclnamespace = 0
       and not exists (select from aclexplode(d.defaclacl) x where x.grantee = 0)) as whole`,
  );
  if (rows[0]?.whole === true) return [];
  return [
    {
      part: 'grants',
      detail: `default privileges of ${owner}: every role may execute each function that it makes, and no role is expected`,
      statement: `ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;`,
    },
  ];
}

/**
 * If the owner may not create, the next migration fails. If everybody may, a stranger's table can
 * stand before ours.
 */
async function wrongSchema(pool: Pool): Promise<OwnershipFault[]> {
  const { rows } = await pool.query<{ owns: boolean; open: boolean }>(
    `select coalesce((select has_schema_privilege(oid, 'public'::regnamespace, 'create') from pg_roles where rolname = '${owner}'), false) as owns,
       exists (select from pg_namespace n cross join aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) x
         where n.nspname = 'public' and x.grantee = 0 and x.privilege_type = 'CREATE') as open`,
  );
  const [row] = rows;
  const faults: OwnershipFault[] = [];
  if (row?.owns !== true)
    faults.push({
      part: 'grants',
      detail: `${owner} may not create in schema public, and USAGE and CREATE are expected`,
      statement: `GRANT USAGE, CREATE ON SCHEMA public TO ${owner};`,
    });
  if (row?.open === true)
    faults.push({
      part: 'grants',
      detail: 'every role may create in schema public, and none but the owner is expected',
      statement: 'REVOKE CREATE ON SCHEMA public FROM PUBLIC;',
    });
  return faults;
}

/**
 * Rights beyond the migrations', for the two group roles and for everybody. Rights given to
 * people's logins are their business.
 */
async function wrongRights(pool: Pool, relations: string[], functions: string[]): Promise<OwnershipFault[]> {
  const roles: readonly GrantedRole[] = ['tidemark_app', 'tidemark_reader'];
  const planned = new Set<string>();
  for (const role of roles)
    for (const grant of await plannedGrants(role))
      for (const one of eachColumn(grant.privilege)) planned.add(`${role} ${one} ${objectOf(grant)}`);
  const { rows } = await pool.query<{ kind: string; name: string; grantee: string; privilege: string }>(
    `${ours}, rights as (
       select o.kind, o.name, x.grantee, x.privilege_type as privilege, o.owner from objects o cross join aclexplode(o.acl) x
       union all
       select o.kind, o.name, x.grantee, format('%s (%s)', x.privilege_type, a.attname), o.owner
       from objects o join pg_attribute a on a.attrelid = o.oid and not a.attisdropped and o.kind = 'table' cross join aclexplode(a.attacl) x
     ) select kind, name, case when grantee = 0 then 'PUBLIC' else pg_get_userbyid(grantee) end as grantee, privilege from rights
     where grantee <> owner and (grantee = 0 or pg_get_userbyid(grantee) in ('tidemark_app', 'tidemark_reader')) order by 1, 2, 3, 4`,
    [relations, functions],
  );
  return rows
    .filter(({ name, grantee, privilege }) => !planned.has(`${grantee} ${privilege} ${name.replace(/\(.*/, '')}`))
    .map(({ kind, name, grantee, privilege }) => ({
      part: 'grants',
      detail: `${grantee === 'PUBLIC' ? 'every role' : grantee} may ${privilege} on ${kind} ${name}, and no such right is expected`,
      statement: `REVOKE ${privilege} ON ${kind} ${name} FROM ${grantee};`,
    }));
}

/** `UPDATE (a, b)`: one right for each column, as the catalog has them. */
function eachColumn(privilege: string): string[] {
  const [, word, columns] = /^(\w+) ?\((.*)\)$/.exec(privilege) ?? [];
  return columns === undefined ? [privilege] : columns.split(',').map((column) => `${word} (${column.trim()})`);
}

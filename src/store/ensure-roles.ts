import type { ClientBase } from 'pg';

const roles = ['tidemark_owner', 'tidemark_app', 'tidemark_reader'];

/**
 * Makes the three group roles where they are missing, and lets the owner create in this database. Roles belong to the whole server: another
 * database may be migrated at the same moment, and whoever comes second finds the role made between its look and its CREATE.
 */
export async function ensureRoles(client: ClientBase): Promise<void> {
  for (const role of roles) {
    await client.query(`do $$ begin
      if not exists (select from pg_roles where rolname = '${role}') then create role ${role} nologin; end if;
    exception when duplicate_object or unique_violation then null;
    end $$`);
  }
  // A login that may create roles but is no superuser is admin of what it created, and no member: it may make itself one.
  await client.query(`do $$ begin
    if not (select rolsuper from pg_roles where rolname = current_user) then execute format('grant tidemark_owner to %I', current_user); end if;
  exception when insufficient_privilege or unique_violation then null;
  end $$`);
  await client.query('grant usage, create on schema public to tidemark_owner');
}

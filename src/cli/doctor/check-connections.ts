import type { Pool } from 'pg';
import type { Config } from '../../config/config.ts';
import { plural } from '../../runtime/plural.ts';
import { type Finding, warn } from './finding.ts';

/** The lane's 5 and the 10 for commands; two pools of TIDEMARK_DATABASE_POOL_SIZE come on top. */
const ownSessions = 15;

interface Room {
  /** The limit that leaves the least. */
  readonly limit: string;
  readonly room: number;
}

/**
 * Whether one process gets all the sessions it may open. Otherwise it starts well and waits under
 * load. Sessions of Tidemark with this login count as free: it may be the process itself that has
 * them. Silent if there is room.
 */
export async function checkConnections(pool: Pool, { databasePoolSize }: Config): Promise<Finding[]> {
  const { rows } = await pool.query<Room>(
    `with used as (
       select (select sum(numbackends) from pg_stat_database) as by_all,
         (select numbackends from pg_stat_database where datname = current_database()) as by_database,
         count(*) as by_login, count(*) filter (where application_name like 'tidemark%') as ours
       from pg_stat_activity where usename = current_user
     ), room as (
       select 'max_connections = ' || current_setting('max_connections') as "limit",
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0) - u.by_all + u.ours as room from used u
       union all select 'the CONNECTION LIMIT of database ' || quote_ident(datname), datconnlimit - u.by_database + u.ours
         from used u, pg_database where datname = current_database() and datconnlimit >= 0
       union all select 'the CONNECTION LIMIT of ' || quote_ident(rolname), rolconnlimit - u.by_login + u.ours
         from used u, pg_roles where rolname = current_user and rolconnlimit >= 0
     ) select "limit", room::int from room order by room limit 1`,
  );
  const [least] = rows;
  const wanted = ownSessions + 2 * databasePoolSize;
  if (least === undefined || least.room >= wanted) return [];
  const left = Math.max(0, least.room);
  return [
    warn(
      'connections',
      `${least.limit} leaves ${plural(left, 'session')} for a process that may open ${wanted}: under load it would wait for them`,
      'Raise that limit, or lower TIDEMARK_DATABASE_POOL_SIZE; docs/capacity.md has the number for each process.',
    ),
  ];
}

import type { Pool } from 'pg';
import type { Config } from '../../config/config.ts';
import { isAddressable } from '../../domain/platform-id.ts';
import { plural } from '../../runtime/plural.ts';
import { measureStorage } from '../../store/maintenance.ts';
import { type Finding, fail, warn } from './finding.ts';

// Checks of the database that have a finding only where something is wrong.

/**
 * Postgres takes the order of texts from the operating system or from ICU. A base backup that is
 * started on another system brings indexes in the old order: an order that is there is not found,
 * or comes twice.
 */
export async function checkCollation(pool: Pool): Promise<Finding[]> {
  const { rows } = await pool.query<{ name: string; made: string; now: string }>(
    `select quote_ident(datname) as name, datcollversion as made, pg_database_collation_actual_version(oid) as now
     from pg_database where datname = current_database() and datcollversion <> pg_database_collation_actual_version(oid)`,
  );
  return rows.map(({ name, made, now }) =>
    fail(
      'collation',
      `the indexes over texts were made with version ${made} of the system's sort order, and this server has ${now}: rows may not be found`,
      `Stop every instance. As the owner: reindex database ${name}; then alter database ${name} refresh collation version`,
    ),
  );
}

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
 * them.
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

/**
 * Each renewal of the lease (every 2 s) leaves one dead version in the lane's row, and each batch
 * reads past all those vacuum may not remove.
 */
const manyDead = 1_000;
/** No session of ours holds a snapshot beyond the deadline for a statement. */
const oldAfterSeconds = 60;
const namedHolders = 3;

interface Holder {
  readonly what: string;
  readonly name: string;
  /** Null: not known, for example for a replication slot. */
  readonly seconds: number | null;
}

/** An old open snapshot keeps vacuum from removing dead rows in every table. */
export async function checkVacuum(pool: Pool): Promise<Finding[]> {
  const { laneDeadRows } = await measureStorage(pool);
  const holders = await oldestHolders(pool);
  const advice =
    'End that session or transaction, drop the slot that is not used, or wait for the backup (docs/operating.md, "An old snapshot").';
  if (laneDeadRows >= manyDead) {
    const by =
      holders.length === 0 ? 'this login can not see the cause' : `held by ${holders.map(sentence).join(', ')}`;
    return [warn('vacuum', `${laneDeadRows} dead versions of the rows of lanes slow every batch down: ${by}`, advice)];
  }
  const old = holders.filter(({ seconds }) => seconds !== null && seconds > oldAfterSeconds);
  if (old.length === 0) return [];
  return [warn('vacuum', `dead rows gather behind an old snapshot: ${old.map(sentence).join(', ')}`, advice)];
}

function sentence({ what, name, seconds }: Holder): string {
  return `${what} ${name}${seconds === null ? '' : ` for ${seconds} s`}`;
}

/**
 * Oldest first. A login sees snapshots in other logins' sessions only as a member of
 * pg_read_all_stats; every login sees slots and prepared transactions. A standby with
 * hot_standby_feedback appears as its own session, or as its slot.
 */
async function oldestHolders(pool: Pool): Promise<Holder[]> {
  const { rows } = await pool.query<Holder>(
    `select what, name, seconds from (
       select case backend_type when 'walsender' then 'standby' else 'session' end as what,
         format('%s (%s)', pid, coalesce(nullif(application_name, ''), usename)) as name,
         extract(epoch from clock_timestamp() - xact_start)::int as seconds, age(backend_xmin) as xids
       from pg_stat_activity
       where backend_xmin is not null and pid <> pg_backend_pid() and backend_type in ('client backend', 'walsender')
         and (datname = current_database() or datname is null)
       union all
       select 'replication slot', slot_name, null, age(xmin) from pg_replication_slots where xmin is not null
       union all
       select 'prepared transaction', gid, extract(epoch from clock_timestamp() - prepared)::int, age(transaction)
       from pg_prepared_xacts where database = current_database()
     ) as holder order by xids desc limit ${namedHolders}`,
  );
  return rows;
}

const namedOrders = 5;

/**
 * Open orders that can be cancelled only at the platform itself, by their ids. The pattern lets
 * each of them through, and few others; it reads the open orders alone, from an index.
 */
export async function checkReach(pool: Pick<Pool, 'query'>): Promise<Finding[]> {
  const { rows } = await pool.query<{ account_id: string; order_id: string }>(
    `select o.account_id, o.order_id from public.accounts a
     join public.orders o on o.account_id = a.account_id and o.stream = a.stream and o.is_open
     where o.order_id collate "C" ~ '(^|[/\\\\?#;])[.]{0,2}([/\\\\?#;]|$)|%|[^ -~]'
     order by 1, 2 limit 100000`,
  );
  const found = rows.filter((row) => !isAddressable(row.order_id));
  if (found.length === 0) return [];
  const names = found.slice(0, namedOrders).map((row) => `${row.account_id} ${JSON.stringify(row.order_id)}`);
  const more = found.length > namedOrders ? ', …' : '';
  return [
    warn(
      'order ids',
      `${plural(found.length, 'open order')} can be cancelled only at the platform itself, by no command and no cancel-all: ${names.join(', ')}${more}`,
      'Cancel them there if they have to go (docs/runbooks/OrdersOutOfReach.md).',
    ),
  ];
}

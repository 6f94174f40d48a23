import type { Pool } from 'pg';
import { measureStorage } from '../../store/maintenance.ts';
import { type Finding, warn } from './finding.ts';

/**
 * Each renewal of the lease (every 2 s) leaves one dead version in the lane's row, and each batch
 * reads past all those vacuum may not remove.
 */
const manyDead = 1_000;
/** No session of ours holds a snapshot beyond the deadline for a statement. */
const oldAfterSeconds = 60;
const named = 3;

interface Holder {
  readonly what: string;
  readonly name: string;
  /** Null: not known, for example for a replication slot. */
  readonly seconds: number | null;
}

/**
 * An old open snapshot keeps vacuum from removing dead rows in every table. No finding if nothing
 * is held back.
 */
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
     ) as holder order by xids desc limit ${named}`,
  );
  return rows;
}

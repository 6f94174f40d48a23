import type { Pool } from 'pg';
import type { Clock } from '../../runtime/clock.ts';
import { desc, drizzle, eq, sql } from '../drizzle.ts';
import { auditTrail } from '../schema/principals.ts';
import { storableJson } from '../session/write-once.ts';

/** A person's act, as the audit trail records it. */
export interface PersonsWord {
  readonly by: string;
  readonly reason: string;
  readonly requestId: string;
}

/** SQL: a statement writes its act's lines with it. */
export const intoAuditTrail =
  'insert into public.audit_log (at, principal, action, account_id, request_id, reason, detail)';

/** A line of the audit trail as exported: times in ISO 8601, the 64-bit number as text. */
interface AuditLine {
  readonly id: string;
  readonly at: string;
  readonly principal: string;
  readonly action: string;
  readonly accountId: string | null;
  readonly commandId: string | null;
  readonly requestId: string | null;
  readonly reason: string | null;
  readonly detail: unknown;
}

interface AuditQuery {
  /** Only lines above this id. */
  readonly after: string;
  readonly upTo: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly action?: string;
  readonly limit: number;
}

/** Lines by id, up to `upTo` of `readTrailEnd`. */
export async function readAuditTrail(
  pool: Pool,
  { after, upTo, since, until, action, limit }: AuditQuery,
): Promise<AuditLine[]> {
  // Raw: the database writes the line as exported, with its time as text.
  const { rows } = await pool.query<{ line: AuditLine }>(
    `select json_build_object('id', id::text, 'at', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'principal', principal, 'action', action,
       'accountId', account_id, 'commandId', command_id, 'requestId', request_id, 'reason', reason, 'detail', detail) as line
     from public.audit_log
     where id > $1 and id <= $6 and ($2::timestamptz is null or at >= $2) and ($3::timestamptz is null or at < $3)
       and ($4::text is null or action = $4)
     order by id limit $5`,
    [after, since ?? null, until ?? null, action ?? null, limit, upTo],
  );
  return rows.map(({ line }) => line);
}

interface TrailEnd {
  /** No line at or below it can be committed any more. */
  readonly upTo: string;
  /** The process with a transaction that holds later lines back, and since when. */
  readonly heldBy?: { readonly pid: number | null; readonly since: string | null };
}

/** A process writes a line in milliseconds. */
const [endsEveryMs, endsWithinMs] = [50, 10_000];

/**
 * Ids are given before commits, so a slower transaction may still commit a line below one that is
 * there. It holds the lock of a writer from before it has the id: once those that hold one now have
 * ended, all lines are there up to the highest now. No clock says that: it may be set back, and a
 * transaction may stay open. For such a one, the lines end before the first id that is missing,
 * since none is ever deleted. Only the primary shows locks.
 */
export async function readTrailEnd(
  { pool, clock }: { readonly pool: Pool; readonly clock: Clock },
  after: string,
): Promise<TrailEnd> {
  const newest = await pool.query<{ id: string | null }>('select max(id)::text as id from public.audit_log');
  const upTo = newest.rows[0]?.id ?? after;
  const seen = await readWriters(pool);
  const deadline = clock.monotonicMs() + endsWithinMs;
  for (let left = seen; ; ) {
    const [first] = left;
    if (first === undefined) return { upTo };
    if (clock.monotonicMs() >= deadline) {
      const { rows } = await pool.query<{ id: string }>(
        `select coalesce((select n.before from (select id, lag(id, 1, $1::bigint) over (order by id) as before from public.audit_log where id > $1) n
           where n.id > n.before + 1 order by n.id limit 1), $2::bigint)::text as id`,
        [after, upTo],
      );
      return { upTo: rows[0]?.id ?? after, heldBy: { pid: first.pid, since: first.since } };
    }
    await clock.sleep(endsEveryMs);
    const now = new Set((await readWriters(pool)).map(({ name }) => name));
    left = seen.filter(({ name }) => now.has(name));
  }
}

async function readWriters(pool: Pool) {
  const { rows } = await pool.query<{ name: string; pid: number | null; since: string | null }>(
    `select l.virtualtransaction as name, l.pid, to_char(a.xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
     from pg_locks l left join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'relation' and l.relation = 'public.audit_log'::regclass and l.granted and l.mode = 'RowExclusiveLock'
       and l.database = (select oid from pg_database where datname = current_database())`,
  );
  return rows;
}

/**
 * Records a person's act at the command line, under the database login. The command line asks for
 * no name.
 */
export async function recordAction(pool: Pool, action: string, detail: object): Promise<void> {
  // Raw: the database's own expressions give the time and the principal.
  await pool.query(
    `insert into public.audit_log (at, principal, action, detail) values (clock_timestamp(), 'database:' || session_user, $1, $2)`,
    [action, storableJson(detail)],
  );
}

/** Settings by the name of their variable, as they may be printed. */
export type SettingTexts = Readonly<Record<string, string>>;

/** The settings recorded last; empty if none were. */
export async function newestConfiguration(pool: Pool): Promise<SettingTexts> {
  const { id, action, detail } = auditTrail;
  const [row] = await drizzle(pool)
    .select({ settings: sql<SettingTexts | null>`${detail} -> 'settings'` })
    .from(auditTrail)
    .where(eq(action, 'configuration'))
    .orderBy(desc(id))
    .limit(1);
  return row?.settings ?? {};
}

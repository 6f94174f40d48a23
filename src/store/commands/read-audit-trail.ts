import type { Pool } from 'pg';
import { desc, drizzle, eq, sql } from '../drizzle.ts';
import { auditTrail } from '../schema/principals.ts';
import { storableJson } from '../session/write-once.ts';

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
  readonly since?: Date;
  readonly until?: Date;
  readonly action?: string;
  readonly limit: number;
}

/**
 * Lines by id. The last minute is left out. Ids are given before commits, so a slower transaction
 * may still commit a line with a lower id. A reader that continues from its last id would never see
 * that line.
 */
export async function readAuditTrail(
  pool: Pool,
  { after, since, until, action, limit }: AuditQuery,
): Promise<AuditLine[]> {
  // Raw: the database writes the line as exported, with its time as text.
  const { rows } = await pool.query<{ line: AuditLine }>(
    `select json_build_object('id', id::text, 'at', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'principal', principal, 'action', action,
       'accountId', account_id, 'commandId', command_id, 'requestId', request_id, 'reason', reason, 'detail', detail) as line
     from public.audit_log
     where id > $1 and recorded_at < now() - interval '1 minute' and ($2::timestamptz is null or at >= $2) and ($3::timestamptz is null or at < $3)
       and ($4::text is null or action = $4)
     order by id limit $5`,
    [after, since ?? null, until ?? null, action ?? null, limit],
  );
  return rows.map(({ line }) => line);
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

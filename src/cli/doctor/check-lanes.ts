import type { Pool } from 'pg';
import { plural } from '../plural.ts';
import { type Finding, fail, warn } from './finding.ts';

/** Nothing is said of lanes that are as they should be: most installations have one, and never think of it. */
export async function checkLanes(pool: Pool): Promise<Finding[]> {
  return [...(await abandoned(pool)), ...(await shared(pool))];
}

/** Rows of a lane that nobody holds are published by nobody, and keep the log from being dropped. */
async function abandoned(pool: Pool): Promise<Finding[]> {
  const { rows } = await pool.query<{ lane: number; rows: boolean }>(
    `select l.lane, exists (
       select from public.order_updates u where u.lane = l.lane and u.seq > (
         select min(coalesce(r.seq, 0)) from (values ('log'), ('state')) as c(cursor)
         left join public.relay_positions r on r.lane = l.lane and r.cursor = c.cursor)
     ) as rows
     from public.lanes l where l.holder is null or l.renewed_at < clock_timestamp() - interval '1 minute' order by l.lane`,
  );
  return rows
    .filter((lane) => lane.rows)
    .map(({ lane }) =>
      warn(
        `lane ${lane}`,
        'nobody holds it, and it has updates that are not on Kafka',
        `Start a service with TIDEMARK_LANE=${lane}; until it has published them, none of the log is dropped.`,
      ),
    );
}

/** Of each lane's log, newest first: at a thousand updates a second a minute, in which each account that is followed has a mark of continuity. */
const looked = 60_000;

/** An account that two lanes follow: both count its revisions, and each refuses what the other has written. */
async function shared(pool: Pool): Promise<Finding[]> {
  const { rows } = await pool.query<{ account_id: string; lanes: string }>(
    `select account_id, string_agg(distinct lane::text, ', ') as lanes
     from (select u.* from public.lanes l cross join lateral (
       select account_id, lane, recorded_at from public.order_updates where lane = l.lane order by seq desc limit ${looked}) as u) as newest
     where recorded_at > clock_timestamp() - interval '1 minute' and (select count(*) from public.lanes) > 1
     group by account_id having count(distinct lane) > 1 order by account_id`,
  );
  const [first] = rows;
  if (first === undefined) return [];
  return [
    fail(
      'lanes',
      `${plural(rows.length, 'account was', 'accounts were')} followed by several lanes within a minute: ${first.account_id} by ${first.lanes}`,
      'Give each account to one lane alone by PLATFORM_ACCOUNTS (docs/operating.md, "More than one lane").',
    ),
  ];
}

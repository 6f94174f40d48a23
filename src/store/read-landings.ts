import type { Pool } from 'pg';
import type { Landings } from '../commands/command-journal.ts';

interface Row {
  last: string | null;
  places: number;
  attempt_id: string | null;
  command_id: string;
  order_id: string;
}

const before = '00000000-0000-0000-0000-000000000000';

// By the index of places that came to nothing, then by that of bindings. An order that is rejected, or not decided upon, is what a rejected place makes.
const text = `
  with page as materialized (
    select command_id, state from public.commands
    where lane = $1 and kind = 'place' and order_id is null and settled_at is not null and command_id > $2 order by command_id limit $3
  )
  select l.last, l.places, f.attempt_id, f.command_id, f.order_id
  from (select (select command_id from page order by command_id desc limit 1) as last, (select count(*)::integer from page) as places) l
  left join (
    select b.attempt_id, b.command_id, b.order_id
    from page p join public.order_bindings b on b.command_id = p.command_id and b.matches
    left join public.orders o on o.stream = b.stream and o.order_id = b.order_id
    where p.state <> 'rejected' or not (coalesce(o.status, 'unknown') in ('pending_new', 'unknown') or (o.status = 'rejected' and o.state ->> 'cumQty' = '0'))
  ) f on true
  order by f.command_id, f.order_id`;

/** Orders that are bound to places which came to nothing; see the port. */
export async function readLandings(pool: Pool, lane: number, after: string | undefined, limit: number): Promise<Landings> {
  const { rows } = await pool.query<Row>(text, [lane, after ?? before, limit]);
  const bound = rows.flatMap(({ attempt_id, command_id, order_id }) =>
    attempt_id === null ? [] : [{ attemptId: attempt_id, commandId: command_id, orderId: order_id, matches: true }],
  );
  const last = rows[0];
  return last === undefined || last.last === null || last.places < limit ? { bound } : { bound, next: last.last };
}

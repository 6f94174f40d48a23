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

// By the index of places that came to nothing, then by that of bindings. What agrees with the outcome is left out, as `settlePlace` would: the rejected order of a rejected
// place, one that nobody has decided upon where the platform answered `rejected`, or where a person settled the place with the order in sight.
const text = `
  with page as materialized (
    select command_id, state, order_id from public.commands
    where lane = $1 and kind = 'place' and settled_at is not null and (order_id is null or state <> 'applied') and command_id > $2
    order by command_id limit $3
  )
  select l.last, l.places, f.attempt_id, f.command_id, f.order_id
  from (select (select command_id from page order by command_id desc limit 1) as last, (select count(*)::integer from page) as places) l
  left join (
    select b.attempt_id, b.command_id, b.order_id
    from page p join public.order_bindings b on b.command_id = p.command_id and b.matches
    left join public.orders o on o.stream = b.stream and o.order_id = b.order_id
    left join public.attempts a on a.attempt_id = b.attempt_id
    cross join lateral (select
      o.state ->> 'cumQty' <> '0' or (o.state ->> 'certainty' = 'certain' and o.status not in ('pending_new', 'unknown', 'rejected')) as taken,
      o.status = 'rejected' as refused) v
    where coalesce(v.taken, false)
      or p.order_id is null and (p.state <> 'rejected' or not (coalesce(v.refused, false) or a.state = 'rejected'))
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

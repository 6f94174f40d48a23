import type { Pool } from 'pg';
import type { Unproven } from './order-store.ts';

/**
 * The last proof is looked for among this many newest rows. There is one every 15 s while an
 * account is live, so this is enough for 13,000 updates a second. A term begins to write behind it:
 * 45,000 rows of 950 bytes took 0.2 to 0.3 s.
 */
const lookedAtRows = 200_000;

/**
 * The updates behind the lane's last proof, as ingest would have counted them
 * (`service/orders/prepare-batch.ts`). Postgres makes the sum, so at most one row leaves it. The
 * last proof is in batch `upTo` + 1, so nearly every row read counts.
 */
const unprovenText = `
  with proof as (
    select n.seq, (n.payload::json #>> '{proof,upTo}')::bigint as up_to, (n.payload::json #>> '{proof,generation}')::integer as generation
    from (select seq, stream, payload from public.order_updates where lane = $1 order by seq desc limit $3) as n
    where n.stream = 'continuity' and n.payload like '%"proof":{%'
    order by n.seq desc limit 1
  ), bound as (
    select p.up_to, coalesce((
      select u.seq from public.order_updates u where u.lane = $1 and u.seq < p.seq and u.batch <= p.up_to order by u.seq desc limit 1
    ), 0) as seq
    from proof p where p.generation = $2
  )
  select b.up_to, c.updates, c.sum
  from bound b cross join lateral (
    select count(*) as updates,
      coalesce(sum(('x' || left(encode(sha256(convert_to(u.payload, 'UTF8')), 'hex'), 12))::bit(48)::bigint), 0) % (1::bigint << 48) as sum
    from public.order_updates u where u.lane = $1 and u.seq > b.seq and u.stream <> 'continuity'
  ) as c`;

/** Undefined: the lane has no proof in this generation among its newest rows. */
export async function readUnproven(pool: Pool, lane: number, generation: number): Promise<Unproven | undefined> {
  const { rows } = await pool.query<{ up_to: string; updates: string; sum: string }>(unprovenText, [
    lane,
    generation,
    lookedAtRows,
  ]);
  const [row] = rows;
  return row && { after: BigInt(row.up_to), count: Number(row.updates), sum: Number(row.sum) };
}

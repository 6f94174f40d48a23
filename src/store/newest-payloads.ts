import type { Pool } from 'pg';
import { decodeHead } from '../domain/decode-head.ts';
import { encodeUpdate } from '../domain/encode-update.ts';
import { textArray } from './binary-array.ts';

interface Row {
  readonly key: string;
  readonly revision: string;
  readonly source_version: string | null;
  readonly state: string;
  readonly join_state: string;
  readonly updated_at: Date;
  readonly generation: number;
  readonly payload: string | null;
}

/**
 * The newest update of each of the orders, as it belongs on the state topic: the row of the log, or, where retention has taken that, one made of the stored
 * order (`changed` is empty then, the generation is the lane's present one). Keys are `<stream>:<orderId>`; what is not stored is left out.
 */
export async function newestPayloads(pool: Pool, keys: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await pool.query<Row>(
    `select k.key, o.revision, o.source_version, o.state::text as state, o.join_state::text as join_state, o.updated_at, l.generation, u.payload
     from unnest($1::text[]) as k(key)
     join public.orders o on o.stream = split_part(k.key, ':', 1) and o.order_id = substr(k.key, strpos(k.key, ':') + 1)
     join public.lanes l on l.lane = o.lane
     left join lateral (
       select payload from public.order_updates u where u.stream = o.stream and u.order_id = o.order_id and u.revision = o.revision limit 1
     ) u on true`,
    [textArray(keys)],
  );
  return new Map(rows.map((row) => [row.key, row.payload ?? payloadOf(row)]));
}

function payloadOf({
  state,
  join_state: join,
  revision,
  source_version: sourceVersion,
  updated_at: at,
  generation,
}: Row): string {
  const head = decodeHead({ state, join, revision: Number(revision), sourceVersion });
  return encodeUpdate({
    head,
    orderJson: state,
    generation,
    cause: 'snapshot',
    occurredAt: head.order.updatedAt,
    observedAt: at.toISOString(),
    changed: [],
  });
}

import type { Pool } from 'pg';
import { decodeHead } from '../domain/decode-head.ts';
import type { Head } from '../domain/head.ts';
import { textArray } from './binary-array.ts';

interface Row {
  key: string;
  revision: string;
  source_version: string | null;
  state: string;
  join_state: string;
}

const text = `
  select k.key, o.revision, o.source_version, o.state::text as state, o.join_state::text as join_state
  from unnest($1::text[]) as k(key)
  join public.orders o on o.stream = split_part(k.key, ':', 1) and o.order_id = substr(k.key, strpos(k.key, ':') + 1)`;

/** Heads of those of the keys that are known. Keys are `<stream>:<orderId>`; an order id may hold colons itself. */
export async function readHeads(pool: Pool, keys: readonly string[]): Promise<Map<string, Head>> {
  // Postgres' text has no NUL, so such an order can't be known; asking would fail for all the others as well, and for ever.
  const askable = keys.filter((key) => !key.includes('\0'));
  if (askable.length === 0) return new Map();
  // Not prepared: a plan kept from when there were few orders would read all of them once there are many.
  const { rows } = await pool.query<Row>(text, [textArray(askable)]);
  return new Map(
    rows.map((row) => [
      row.key,
      decodeHead({
        state: row.state,
        join: row.join_state,
        revision: Number(row.revision),
        sourceVersion: row.source_version,
      }),
    ]),
  );
}

import type { Pool } from 'pg';
import type { Stream } from '../domain/order.ts';
import type { Binding } from '../ingest/order-store.ts';
import { textArray } from './binary-array.ts';

interface Row {
  attempt_id: string;
  command_id: string;
  caller_ref: string | null;
  stream: Stream;
  account_id: string;
  symbol: string;
  side: string;
}

// Places only: an order can carry no other command's reference.
const text = `
  select a.attempt_id, c.command_id, c.caller_ref, c.stream, c.account_id, c.symbol, c.side
  from unnest($1::text[]) as k(attempt_id)
  join public.attempts a using (attempt_id) join public.commands c on c.command_id = a.command_id
  where c.kind = 'place'`;

/** What was asked for under each of the attempts' ids; those that are not ours are left out. */
export async function readBindings(pool: Pool, attemptIds: readonly string[]): Promise<Map<string, Binding>> {
  // They come off the wire: see `readHeads`.
  const askable = attemptIds.filter((id) => !id.includes('\0'));
  if (askable.length === 0) return new Map();
  const { rows } = await pool.query<Row>(text, [textArray(askable)]);
  return new Map(
    rows.map((row) => [
      row.attempt_id,
      {
        commandId: row.command_id,
        ...(row.caller_ref === null ? {} : { callerRef: row.caller_ref }),
        stream: row.stream,
        accountId: row.account_id,
        symbol: row.symbol,
        side: row.side,
      },
    ]),
  );
}

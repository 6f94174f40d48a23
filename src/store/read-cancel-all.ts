import type { Pool } from 'pg';
import type { NewCancelAll, PlaceOfAccount } from '../commands/command-journal.ts';
import type { Stream } from '../domain/order.ts';
import type { Selectable } from '../domain/select-orders.ts';

/** The cancel-all that holds the key, as `open_cancel_all` sees it. */
export async function readCancelAll(
  pool: Pool,
  lane: number,
  principal: string,
  idempotencyKey: string,
): Promise<NewCancelAll | undefined> {
  if (`${principal}${idempotencyKey}`.includes('\0')) return undefined;
  const { rows } = await pool.query<{ cancelAll: NewCancelAll }>(
    `select public.cancel_all_json(c) as "cancelAll" from public.cancel_alls c
     where lane = $1 and principal = $2 and idempotency_key = $3 and key_held and public.cancel_all_holds_key(c, clock_timestamp())`,
    [lane, principal, idempotencyKey],
  );
  return rows[0]?.cancelAll;
}

/** Those of the lane that are in force, oldest first. */
export async function readCancelAllsInForce(pool: Pool, lane: number): Promise<NewCancelAll[]> {
  const { rows } = await pool.query<{ cancelAll: NewCancelAll }>(
    `select public.cancel_all_json(c) as "cancelAll" from public.cancel_alls c
     where lane = $1 and ended_at is null order by created_at, cancel_all_id`,
    [lane],
  );
  return rows.map(({ cancelAll }) => cancelAll);
}

interface PlaceRow {
  readonly account_id: string;
  readonly stream: Stream;
  readonly command_id: string;
  readonly symbol: string;
  readonly side: string;
  readonly principal: string;
  readonly refs: string[];
}

/** Places of these accounts that are not final and whose order nobody has seen. By the index of what is not final. */
export async function readUnseenPlaces(pool: Pool, accountIds: readonly string[]): Promise<(PlaceOfAccount & Selectable)[]> {
  const { rows } = await pool.query<PlaceRow>(
    `select account_id, stream, command_id, symbol, side, principal,
       array_remove(array_prepend(c.caller_ref, array(select a.attempt_id from public.attempts a where a.command_id = c.command_id)), null) as refs
     from public.commands c
     where settled_at is null and account_id = any($1) and kind = 'place' and order_id is null
     order by account_id, created_at, command_id`,
    [accountIds],
  );
  return rows.map(({ account_id, stream, command_id, symbol, side, principal, refs }) => ({
    ...{ accountId: account_id, stream, commandId: command_id },
    ...{ symbol, side, principal, references: refs },
  }));
}

import type { Pool } from 'pg';
import type { NewCancelAll } from '../commands/command-journal.ts';

/** As the function `cancel_all_json` tells it. */
export interface StoredCancelAll extends Omit<NewCancelAll, 'accountId'> {
  readonly accountId: string | null;
}

export function decodeCancelAll({ accountId, ...rest }: StoredCancelAll): NewCancelAll {
  return { ...rest, ...(accountId !== null && { accountId }) };
}

/** The cancel-all that holds the key, as `open_cancel_all` sees it. */
export async function readCancelAll(
  pool: Pool,
  lane: number,
  principal: string,
  idempotencyKey: string,
): Promise<NewCancelAll | undefined> {
  if (`${principal}${idempotencyKey}`.includes('\0')) return undefined;
  const { rows } = await pool.query<{ cancelAll: StoredCancelAll }>(
    `select public.cancel_all_json(c) as "cancelAll" from public.cancel_alls c
     where lane = $1 and principal = $2 and idempotency_key = $3 and key_held and public.cancel_all_holds_key(c, clock_timestamp())`,
    [lane, principal, idempotencyKey],
  );
  return rows[0] && decodeCancelAll(rows[0].cancelAll);
}

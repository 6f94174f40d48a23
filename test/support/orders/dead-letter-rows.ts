import type { Pool } from 'pg';
import { and, asc, drizzle, eq, gt, isNotNull, isNull } from '../../../src/store/drizzle.ts';
import type { RepairAnswer, RepairRequest } from '../../../src/store/repair-requests.ts';
import { repairRequests } from '../../../src/store/schema/accounts.ts';
import { deadLetters } from '../../../src/store/schema/orders.ts';

/** Rows not dealt with, oldest first, after the given id. */
export async function listDeadLetters(
  pool: Pool,
  afterId: bigint,
  limit: number,
): Promise<(typeof deadLetters.$inferSelect)[]> {
  return drizzle(pool)
    .select()
    .from(deadLetters)
    .where(and(isNull(deadLetters.dealtAt), gt(deadLetters.id, afterId)))
    .orderBy(asc(deadLetters.id))
    .limit(limit);
}

/** A person has dealt with the row. */
export async function markDealt(pool: Pool, id: bigint): Promise<void> {
  await pool.query('update public.dead_letters set dealt_at = now() where id = $1', [id]);
}

type NewRepairRequest = Pick<RepairRequest, 'kind' | 'stream' | 'accountId'> & {
  readonly deadLetterId?: bigint;
};

/** Asks the process that follows the account. Rejects when the database can't be reached. */
export async function askRepair(
  pool: Pool,
  { kind, stream, accountId, deadLetterId }: NewRepairRequest,
): Promise<bigint> {
  // Raw: the service's role may write these columns alone. The query builder names every column in
  // an insert.
  const { rows } = await pool.query<{ id: string }>(
    'insert into public.repair_requests (kind, stream, account_id, dead_letter_id) values ($1, $2, $3, $4) returning id',
    [kind, stream, accountId, deadLetterId?.toString() ?? null],
  );
  return BigInt(rows[0]?.id ?? 0);
}

/** Undefined: the request is open. */
export async function readAnswer(pool: Pool, id: bigint): Promise<RepairAnswer | undefined> {
  const [row] = await drizzle(pool)
    .select({ result: repairRequests.result, detail: repairRequests.detail })
    .from(repairRequests)
    .where(and(eq(repairRequests.id, id), isNotNull(repairRequests.answeredAt)));
  return row && { result: row.result as RepairAnswer['result'], detail: row.detail ?? '' };
}

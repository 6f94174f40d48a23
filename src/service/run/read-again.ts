import type { Pool } from 'pg';
import type { Stream } from '../../domain/order.ts';
import { newestQuarantined, quarantinedAgain } from '../../store/quarantine/quarantine.ts';
import type { RepairAnswer } from '../../store/repair-requests.ts';
import type { AccountAccess } from '../sources/account-access.ts';

/**
 * Reads one order in quarantine again, by the same path into ingest as every read. It never uses
 * the old bytes: they are older than the facts known by now, and may come from a store that the
 * platform has lost since. `done`: its rows may be dealt with now.
 */
export async function readOrderAgain(
  pool: Pool,
  account: Pick<AccountAccess, 'lookAt'>,
  { stream, orderId }: { readonly stream: Stream; readonly orderId: string },
  signal: AbortSignal,
): Promise<RepairAnswer> {
  // An order may have many rows: only one from during the read says that it still cannot be read.
  const before = await newestQuarantined(pool);
  const look = await account.lookAt(orderId, signal);
  if (!look.complete) return { outcome: 'failed', detail: look.error.message };
  if (!look.shown.includes(orderId))
    return { outcome: 'failed', detail: 'the platform does not show the order any more' };
  const again = await quarantinedAgain(pool, before, { stream, orderId });
  if (again !== undefined) return { outcome: 'failed', detail: `what was read was quarantined again, as ${again}` };
  return { outcome: 'done', detail: 'the order was read again and went through ingest' };
}

import type { Pool } from 'pg';
import type { Fence } from '../commands/command-journal.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { writeOnce } from './write-once.ts';

/** PREPARED → SENDING. Only `true`, which is told after the commit, permits the one write. */
export async function markSending(
  deps: RetryDeps & { readonly pool: Pool },
  attemptId: string,
  atMs: number,
  { lane, epoch }: Fence,
): Promise<boolean> {
  const [row] = await writeOnce<{ marked: boolean }>(deps, {
    name: 'mark_sending',
    text: 'select public.mark_sending($1, $2, $3, $4) as marked',
    values: [lane, epoch.toString(), attemptId, atMs],
  });
  return row?.marked === true;
}

import type { Pool } from 'pg';
import type { Fence, NewCancelAll, OpenCancelAllResult } from '../commands/command-journal.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { storableJson } from './storable-json.ts';
import { writeOnce } from './write-once.ts';

/** A cancel-all with its list, unless its key is known; by `open_cancel_all` in `drizzle/`. */
export async function openCancelAll(
  deps: RetryDeps & { readonly pool: Pool },
  cancelAll: NewCancelAll,
  { lane, epoch }: Fence,
): Promise<OpenCancelAllResult> {
  const [row] = await writeOnce<{ result: OpenCancelAllResult }>(deps, {
    text: 'select public.open_cancel_all($1, $2, $3) as result',
    values: [lane, epoch.toString(), storableJson(cancelAll)],
  });
  return row?.result ?? { kind: 'fenced' };
}

/** False: fenced. */
export async function endCancelAll(
  deps: RetryDeps & { readonly pool: Pool },
  cancelAllId: string,
  atMs: number,
  { lane, epoch }: Fence,
): Promise<boolean> {
  const [row] = await writeOnce<{ held: boolean }>(deps, {
    text: 'select public.end_cancel_all($1, $2, $3, $4) as held',
    values: [lane, epoch.toString(), cancelAllId, atMs],
  });
  return row?.held === true;
}

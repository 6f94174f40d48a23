import type { Pool } from 'pg';
import type { Fence, NewCancelAll, OpenCancelAllResult } from '../commands/command-journal.ts';
import { decodeCancelAll, type StoredCancelAll } from './read-cancel-all.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { storableJson } from './storable-json.ts';
import { writeOnce } from './write-once.ts';

type Opened =
  | { readonly kind: 'opened' | 'replayed'; readonly cancelAll: StoredCancelAll }
  | { readonly kind: 'key_reused' | 'fenced' };

/** A cancel-all with its list, unless its key is known; by `open_cancel_all` (drizzle/0011). */
export async function openCancelAll(
  deps: RetryDeps & { readonly pool: Pool },
  cancelAll: NewCancelAll,
  { lane, epoch }: Fence,
): Promise<OpenCancelAllResult> {
  const [row] = await writeOnce<{ result: Opened }>(deps, {
    text: 'select public.open_cancel_all($1, $2, $3) as result',
    values: [lane, epoch.toString(), storableJson(cancelAll)],
  });
  const result = row?.result ?? { kind: 'fenced' };
  return 'cancelAll' in result ? { kind: result.kind, cancelAll: decodeCancelAll(result.cancelAll) } : result;
}

import type { Pool } from 'pg';
import type { Fence, Miss, MissResult } from '../commands/command-journal.ts';
import { decodeCommand, type StoredCommand } from './decode-command.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { storableJson } from './storable-json.ts';
import { writeOnce } from './write-once.ts';

type Noted = { readonly kind: 'noted' | 'stale'; readonly command: StoredCommand } | { readonly kind: 'fenced' };

/** One more complete read that missed an unknown command: its count and the evidence, no step and no event. */
export async function noteMiss(
  deps: RetryDeps & { readonly pool: Pool },
  miss: Miss,
  { lane, epoch }: Fence,
): Promise<MissResult> {
  const [row] = await writeOnce<{ result: Noted }>(deps, {
    text: 'select public.note_miss($1, $2, $3) as result',
    values: [lane, epoch.toString(), storableJson(miss)],
  });
  const result = row?.result ?? { kind: 'fenced' };
  return result.kind === 'fenced' ? result : { kind: result.kind, command: decodeCommand(result.command) };
}

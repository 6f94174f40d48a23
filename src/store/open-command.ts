import type { Pool } from 'pg';
import type { Fence, NewCommand, OpenResult } from '../commands/command-journal.ts';
import type { LimitBreach } from '../domain/limits.ts';
import { decodeCommand, type StoredCommand } from './decode-command.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { storableJson } from './storable-json.ts';
import { writeOnce } from './write-once.ts';

type Opened =
  | { readonly kind: 'opened' | 'replayed'; readonly command: StoredCommand }
  | { readonly kind: 'limited'; readonly breach: LimitBreach }
  | { readonly kind: 'key_reused' | 'caller_ref_reused' | 'not_superseded' | 'fenced' };

/** The command, its first attempt, a note and the first event: one round trip and one commit, on the critical path of every caller. */
export async function openCommand(
  deps: RetryDeps & { readonly pool: Pool },
  command: NewCommand,
  { lane, epoch }: Fence,
): Promise<OpenResult> {
  const [row] = await writeOnce<{ result: Opened }>(deps, {
    name: 'open_command',
    text: 'select public.open_command($1, $2, $3) as result',
    values: [lane, epoch.toString(), storableJson(command)],
  });
  const result = row?.result ?? { kind: 'fenced' };
  return 'command' in result ? { kind: result.kind, command: decodeCommand(result.command) } : result;
}

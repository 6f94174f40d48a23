import type { Pool } from 'pg';
import type { CommandStep, Fence, StepResult } from '../commands/command-journal.ts';
import { decodeCommand, type StoredCommand } from './decode-command.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { storableJson } from './storable-json.ts';
import { writeOnce } from './write-once.ts';

type Stepped = { readonly kind: 'stepped' | 'stale'; readonly command: StoredCommand } | { readonly kind: 'fenced' };

/** One step of one command: its row, an attempt's, evidence and the event, in one round trip and one commit. */
export async function stepCommand(
  deps: RetryDeps & { readonly pool: Pool },
  step: CommandStep,
  { lane, epoch }: Fence,
): Promise<StepResult> {
  const [row] = await writeOnce<{ result: Stepped }>(deps, {
    name: 'step_command',
    text: 'select public.step_command($1, $2, $3) as result',
    values: [lane, epoch.toString(), storableJson(step)],
  });
  const result = row?.result ?? { kind: 'fenced' };
  return result.kind === 'fenced' ? result : { kind: result.kind, command: decodeCommand(result.command) };
}

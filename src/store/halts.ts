import type { Pool } from 'pg';
import type { ClearingWord, Fence, Halt } from '../commands/command-journal.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { storableText } from './storable-json.ts';
import { writeOnce } from './write-once.ts';

type Deps = RetryDeps & { readonly pool: Pool };

interface HaltRow {
  halt_id: string;
  account_id: string | null;
  cause: string;
  reason: string;
  raised_by: string;
  since_ms: string;
  cleared_ms: string | null;
  cleared_by: string | null;
  cleared_reason: string | null;
}

const columns = `halt_id, account_id, cause, reason, raised_by, public.time_to_ms(since) as since_ms, public.time_to_ms(cleared_at) as cleared_ms,
  cleared_by, cleared_reason`;

/** What stands still at the moment, oldest first. */
export async function readActiveHalts(pool: Pool): Promise<Halt[]> {
  const { rows } = await pool.query<HaltRow>(
    `select ${columns} from public.halts where cleared_at is null order by since, halt_id`,
  );
  return rows.map(toHalt);
}

/** The active halt of that scope and cause: this one, unless there was one already. Without a fence nobody is asked who holds the lane. */
export async function raiseHalt(deps: Deps, halt: Halt, fence: Fence | undefined): Promise<Halt | 'fenced'> {
  const [row] = await writeOnce<HaltRow>(deps, {
    text: `select ${columns} from public.raise_halt($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      fence?.lane ?? null,
      fence?.epoch.toString() ?? null,
      halt.haltId,
      accountOf(halt.scope),
      halt.cause,
      storableText(halt.reason),
      storableText(halt.by),
      halt.sinceMs,
    ],
  });
  return row === undefined ? 'fenced' : toHalt(row);
}

/** Clears what is active in exactly this scope: resuming the service leaves the halts of accounts. */
export async function clearHalts(
  deps: Deps,
  scope: Halt['scope'],
  word: ClearingWord,
  { lane, epoch }: Fence,
): Promise<number | 'kept' | 'fenced'> {
  const [row] = await writeOnce<{ cleared: number | null }>(deps, {
    text: 'select public.clear_halts($1, $2, $3, $4, $5, $6, $7) as cleared',
    values: [
      ...[lane, epoch.toString(), accountOf(scope), storableText(word.by), storableText(word.reason), word.atMs],
      word.ofSomeAccounts === true,
    ],
  });
  const cleared = row?.cleared ?? 'fenced';
  return cleared === -1 ? 'kept' : cleared;
}

function accountOf(scope: Halt['scope']): string | null {
  return scope.kind === 'account' ? scope.accountId : null;
}

function toHalt(row: HaltRow): Halt {
  return {
    haltId: row.halt_id,
    scope: row.account_id === null ? { kind: 'service' } : { kind: 'account', accountId: row.account_id },
    cause: row.cause,
    reason: row.reason,
    by: row.raised_by,
    sinceMs: Number(row.since_ms),
    ...(row.cleared_ms === null ? {} : { clearedAtMs: Number(row.cleared_ms) }),
    ...(row.cleared_by === null ? {} : { clearedBy: row.cleared_by }),
    ...(row.cleared_reason === null ? {} : { clearedReason: row.cleared_reason }),
  };
}

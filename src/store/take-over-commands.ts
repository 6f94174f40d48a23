import type { Pool } from 'pg';
import type { Fence } from '../commands/command-journal.ts';
import type { Command } from '../domain/command.ts';
import { decodeCommand, type StoredCommand } from './decode-command.ts';
import { type RetryDeps, retryTransaction } from './retry-transaction.ts';
import { writeOnce } from './write-once.ts';

/** Whole commands of one read: 0.1 s of the server. */
const pageRows = 1_000;

type Deps = RetryDeps & { readonly pool: Pool };

/**
 * Raises the fence and sweeps what the former holder left, in one transaction; then reads what is left to be done. Rejects with `FENCED` where a later holder
 * has taken over; after any other rejection it may be called again under the same epoch.
 *
 * The reads come after the commit: from then on nobody else steps a command, and a hundred thousand that nobody has settled must not make the takeover itself
 * run into the deadline of a statement, now and at every later try.
 */
export async function takeOverCommands(deps: Deps, { lane, epoch }: Fence, atMs: number, recentMs: number): Promise<Command[]> {
  await writeOnce(deps, { text: 'select public.take_over_commands($1, $2, $3)', values: [lane, epoch.toString(), atMs] });
  const ids = await unsettledIds(deps, lane, atMs - recentMs);
  const commands: Command[] = [];
  for (let from = 0; from < ids.length; from += pageRows) {
    commands.push(...(await readByIds(deps, ids.slice(from, from + pageRows))));
  }
  return commands;
}

/** Not final, or final since `sinceMs`; oldest first. Each half goes by an index of its own. */
async function unsettledIds(deps: Deps, lane: number, sinceMs: number): Promise<string[]> {
  const { rows } = await retryTransaction(deps, () =>
    deps.pool.query<{ command_id: string }>(
      `select command_id, created_at from public.commands where lane = $1 and settled_at is null
       union all
       select command_id, created_at from public.commands where lane = $1 and settled_at >= public.ms_to_time($2)
       order by created_at, command_id`,
      [lane, sinceMs],
    ),
  );
  return rows.map(({ command_id }) => command_id);
}

async function readByIds(deps: Deps, ids: readonly string[]): Promise<Command[]> {
  const { rows } = await retryTransaction(deps, () =>
    deps.pool.query<{ command: StoredCommand }>(
      `select public.command_json(c) as command from unnest($1::uuid[]) with ordinality as k(command_id, place)
       join public.commands c using (command_id) order by k.place`,
      [ids],
    ),
  );
  return rows.map(({ command }) => decodeCommand(command));
}

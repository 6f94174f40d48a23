import type { Pool } from 'pg';
import type { RivalCancel } from '../commands/command-journal.ts';
import { isCommandId } from './read-commands.ts';

/** Other cancels of the same orders that may have been out beside these; see the port. By the index of an order's commands. */
export async function readRivalCancels(pool: Pool, commandIds: readonly string[]): Promise<RivalCancel[]> {
  const askable = commandIds.filter(isCommandId);
  if (askable.length === 0) return [];
  const { rows } = await pool.query<{ command_id: string; rival_id: string }>(
    `select c.command_id, r.command_id as rival_id
     from unnest($1::uuid[]) as k(command_id) join public.commands c using (command_id)
     join public.commands r on r.stream = c.stream and r.order_id = c.order_id and r.kind <> 'place'
     where c.kind = 'cancel' and r.kind = 'cancel' and r.command_id <> c.command_id and r.state not in ('refused', 'not_sent')
       and (r.settled_at is null or r.settled_at > c.created_at - interval '1 day')
     order by c.command_id, r.created_at, r.command_id`,
    [askable],
  );
  return rows.map(({ command_id, rival_id }) => ({ commandId: command_id, rivalId: rival_id }));
}

import type { Pool } from 'pg';
import type { BoundOrder } from '../commands/command-journal.ts';
import type { Command, Evidence } from '../domain/command.ts';
import { decodeCommand, decodeEvidence, type EvidenceRow, evidenceColumns, type StoredCommand } from './decode-command.ts';

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Nothing else can be the id of a command; asking Postgres for it would be an error instead of an answer. */
export function isCommandId(text: string): boolean {
  return uuid.test(text);
}

/** One command with its attempts, or undefined when there is none. */
export async function readCommand(pool: Pool, commandId: string): Promise<Command | undefined> {
  if (!isCommandId(commandId)) return undefined;
  const { rows } = await pool.query<{ command: StoredCommand }>({
    name: 'read_command',
    text: 'select public.command_json(c) as command from public.commands c where command_id = $1',
    values: [commandId],
  });
  return rows[0] && decodeCommand(rows[0].command);
}

/** The command that holds the key, as `open_command` sees it. */
export async function readCommandByKey(pool: Pool, principal: string, idempotencyKey: string): Promise<Command | undefined> {
  if (`${principal}${idempotencyKey}`.includes('\0')) return undefined;
  const { rows } = await pool.query<{ command: StoredCommand }>({
    name: 'read_command_by_key',
    text: `select public.command_json(c) as command from public.commands c
      where principal = $1 and idempotency_key = $2 and key_held and (settled_at is null or created_at > clock_timestamp() - interval '7 days')`,
    values: [principal, idempotencyKey],
  });
  return rows[0] && decodeCommand(rows[0].command);
}

/** Commands by the id of one of their attempts; those that are not ours are left out. */
export async function readCommandsByAttempts(pool: Pool, attemptIds: readonly string[]): Promise<Map<string, Command>> {
  const askable = attemptIds.filter((id) => !id.includes('\0'));
  if (askable.length === 0) return new Map();
  const { rows } = await pool.query<{ attempt_id: string; command: StoredCommand }>(
    `select a.attempt_id, public.command_json(c) as command
     from unnest($1::text[]) as k(attempt_id) join public.attempts a using (attempt_id) join public.commands c on c.command_id = a.command_id`,
    [askable],
  );
  return new Map(rows.map(({ attempt_id, command }) => [attempt_id, decodeCommand(command)]));
}

/** Commands that are not final, oldest first, at most `limit`, from above `after`. */
export async function readUnresolved(
  pool: Pool,
  limit: number,
  after?: Pick<Command, 'createdAtMs' | 'commandId'>,
): Promise<Command[]> {
  const from = after === undefined ? '' : 'and (created_at, command_id) > (public.ms_to_time($2), $3::uuid)';
  const { rows } = await pool.query<{ command: StoredCommand }>(
    `select public.command_json(c) as command from public.commands c where settled_at is null ${from} order by created_at, command_id limit $1`,
    after === undefined ? [limit] : [limit, after.createdAtMs, after.commandId],
  );
  return rows.map(({ command }) => decodeCommand(command));
}

/** Everything known about one command, oldest first. */
export async function readEvidence(pool: Pool, commandId: string): Promise<Evidence[]> {
  if (!isCommandId(commandId)) return [];
  const { rows } = await pool.query<EvidenceRow>(
    `select ${evidenceColumns} from public.evidence where command_id = $1 order by number`,
    [commandId],
  );
  return rows.map(decodeEvidence);
}

/** Orders that ingest bound to these commands, matching or not. */
export async function readBoundOrders(pool: Pool, commandIds: readonly string[]): Promise<BoundOrder[]> {
  const askable = commandIds.filter(isCommandId);
  if (askable.length === 0) return [];
  const { rows } = await pool.query<{ attempt_id: string; command_id: string; order_id: string; matches: boolean }>(
    `select attempt_id, command_id, order_id, matches from public.order_bindings where command_id = any($1::uuid[]) order by command_id, bound_at, order_id`,
    [askable],
  );
  return rows.map((row) => ({
    attemptId: row.attempt_id,
    commandId: row.command_id,
    orderId: row.order_id,
    matches: row.matches,
  }));
}

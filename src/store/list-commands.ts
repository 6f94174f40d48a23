import type { Pool } from 'pg';
import type { CommandWithEvidence } from '../commands/commands.ts';
import type { Command } from '../domain/command.ts';
import type { AccountScope, CommandFilter, Page } from '../http/order-reads.ts';
import { inScope, scopeParameter } from './account-scope.ts';
import { decodeCommand, decodeEvidence, type EvidenceRow, evidenceColumns, type StoredCommand } from './decode-command.ts';
import { isCommandId } from './read-commands.ts';

const microseconds = `(extract(epoch from c.created_at) * 1000000)::bigint::text`;
/** `isUnresolved` of domain/command.ts. */
const unresolved = `c.settled_at is null and c.state in ('open', 'unknown', 'conflict')`;

/** A page of commands, newest first. A cursor is when the last one was made (microseconds) and its id. */
export async function listCommands(
  pool: Pool,
  scope: AccountScope,
  filter: CommandFilter,
  after: readonly string[] | undefined,
  limit: number,
): Promise<Page<Command>> {
  const values: unknown[] = [scopeParameter(scope), limit + 1];
  const where = [inScope('c.account_id', 1)];
  const add = (condition: (place: string) => string, value: unknown) => where.push(condition(`$${values.push(value)}`));
  if (filter.accountId !== undefined) add((place) => `c.account_id = ${place}`, filter.accountId);
  if (filter.kind !== undefined) add((place) => `c.kind = ${place}`, filter.kind);
  if (filter.state !== undefined) add((place) => `c.state = ${place}`, filter.state);
  if (filter.idempotencyKey !== undefined) add((place) => `c.idempotency_key = ${place}`, filter.idempotencyKey);
  if (filter.callerRef !== undefined) add((place) => `c.caller_ref = ${place}`, filter.callerRef);
  if (filter.unresolved !== undefined) where.push(filter.unresolved ? unresolved : `not (${unresolved})`);
  if (after !== undefined) {
    const made = `timestamptz 'epoch' + $${values.push(after[0])}::bigint * interval '1 microsecond'`;
    add((place) => `(c.created_at, c.command_id) < (${made}, ${place}::uuid)`, after[1]);
  }
  const { rows } = await pool.query<{ command: StoredCommand; made: string }>(
    `select public.command_json(c) as command, ${microseconds} as made from public.commands c
     where ${where.join(' and ')} order by c.created_at desc, c.command_id desc limit $2`,
    values,
  );
  const items = rows.slice(0, limit).map(({ command }) => decodeCommand(command));
  const last = rows[limit - 1];
  return rows.length > limit && last !== undefined ? { items, next: [last.made, last.command.commandId] } : { items };
}

/** One command with everything known about it, in one snapshot. */
export async function findCommand(pool: Pool, scope: AccountScope, commandId: string): Promise<CommandWithEvidence | undefined> {
  if (!isCommandId(commandId)) return undefined;
  const { rows } = await pool.query<{ command: StoredCommand; evidence: EvidenceRow[] }>({
    name: 'find_command',
    text: `select public.command_json(c) as command, (
        select coalesce(json_agg(e order by e.number), '[]')
        from (select ${evidenceColumns} from public.evidence where command_id = c.command_id) as e
      ) as evidence
      from public.commands c where c.command_id = $2 and ${inScope('c.account_id', 1)}`,
    values: [scopeParameter(scope), commandId],
  });
  const [row] = rows;
  return row && { command: decodeCommand(row.command), evidence: row.evidence.map(decodeEvidence) };
}

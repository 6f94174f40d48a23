import type { ClientBase } from 'pg';
import type { CommandStep, NewCommand } from '../../../src/store/commands/command-journal.ts';
import { decodeCommand, type StoredCommand } from '../../../src/store/commands/decode-command.ts';
import {
  appendValues,
  type JournalRow,
  type KnownCommand,
  markRow,
  openingRow,
  stepRow,
} from '../../../src/store/commands/journal-rows.ts';
import type { Fence } from '../../../src/store/commands/term.ts';
import { fence } from './journal-fixtures.ts';

interface Answer {
  readonly said: string;
  readonly more: unknown;
}

/** Far above those of the journals beside it. */
let lastSeq = 1n << 38n;

/** Rows of a group, in the transaction of this session: what became of each. */
export async function appendIn(
  session: ClientBase,
  rows: readonly JournalRow[],
  alone = false,
  seqs: readonly bigint[] = rows.map(() => ++lastSeq),
): Promise<Answer[]> {
  const values = appendValues(rows, seqs, [], alone);
  const { rows: said } = await session.query<Answer>(
    `select said, more from public.append_journal($1, $2, $3, $4) order by place`,
    values,
  );
  return said;
}

export async function openIn(session: ClientBase, asked: NewCommand, under: Fence = fence): Promise<string> {
  const [answer] = await appendIn(session, [openingRow(asked, under, asked.sendingAtMs)]);
  return answer?.said ?? 'nothing';
}

/** The command as this session sees it. */
export async function knownIn(session: ClientBase, commandId: string): Promise<KnownCommand> {
  const { rows } = await session.query<{ number: number; command: StoredCommand }>(
    'select number, command_json(command_id) as command from commands where command_id = $1',
    [commandId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`there is no command ${commandId}`);
  return { number: row.number, command: decodeCommand(row.command) };
}

export async function markIn(session: ClientBase, commandId: string, atMs: number, alone = false): Promise<Answer> {
  const known = await knownIn(session, commandId);
  const attempt = known.command.attempts.at(-1);
  if (attempt === undefined) throw new Error('it has no attempt');
  const [answer] = await appendIn(session, [markRow(known, attempt, atMs, fence)], alone);
  return answer as Answer;
}

export async function stepIn(session: ClientBase, step: CommandStep, alone = true): Promise<Answer> {
  const known = await knownIn(session, step.commandId);
  const [answer] = await appendIn(session, [stepRow(known, step, fence)], alone);
  return answer as Answer;
}

/** What the lock timeout of a group would end is to be seen. Of the whole database. */
export async function withoutLockTimeout(session: ClientBase): Promise<void> {
  const { rows } = await session.query<{ text: string }>(
    "select pg_get_functiondef('append_journal'::regproc) as text",
  );
  await session.query((rows[0]?.text ?? '').replace("'100ms'", "'60s'"));
}

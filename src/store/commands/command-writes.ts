import type { Pool } from 'pg';
import type { Command, Reason } from '../../domain/command.ts';
import type { LimitBreach } from '../../domain/limits.ts';
import type { Stream } from '../../domain/order.ts';
import type { Selectable } from '../../domain/select-orders.ts';
import { type RetryDeps, retryTransaction } from '../session/retry-transaction.ts';
import { storableJson, writeOnce } from '../session/write-once.ts';
import { readableRows } from '../unreadable-row.ts';
import { doAct } from './approvals.ts';
import type { NewCancelAll, OpenCancelAllResult, PlaceOfAccount } from './cancel-all-journal.ts';
import type {
  AuditTrailEntry,
  CommandStep,
  HaltBounds,
  Miss,
  MissResult,
  NewCommand,
  NewEvidence,
  OpenResult,
  StepResult,
} from './command-journal.ts';
import { decodeCommand, type StoredCommand, type UnreadableCommand } from './decode-command.ts';
import type { GroupCommit } from './group-commit.ts';
import { type StoredHalt, toHalt } from './halts.ts';
import type { Fence } from './term.ts';

/** For writes that share a commit with others of their moment. */
interface Grouped {
  readonly groups: GroupCommit;
}

type OpenedCommand =
  | { readonly kind: 'opened' | 'replayed'; readonly command: StoredCommand }
  | { readonly kind: 'limited'; readonly breach: LimitBreach }
  | { readonly kind: 'key_reused' | 'caller_ref_reused' | 'not_superseded' | 'fenced' };

/**
 * Writes the command, its first attempt, a note and the first event. One round trip and one commit,
 * on every caller's critical path.
 */
export async function openCommand({ groups }: Grouped, command: NewCommand, fence: Fence): Promise<OpenResult> {
  const of = [command.request.accountId];
  const result = await groups.write<OpenedCommand>({ name: 'open_command', fence, of, body: storableJson(command) });
  return 'command' in result ? { kind: result.kind, command: decodeCommand(result.command) } : result;
}

/**
 * PREPARED → SENDING. Only `true`, which comes after the commit, permits the one write. A Reason:
 * it may not be sent any more.
 */
export function markSending(
  { groups }: Grouped,
  attemptId: string,
  atMs: number,
  fence: Fence,
): Promise<boolean | Reason> {
  return groups.write({ name: 'mark_sending', fence, of: [attemptId], body: storableJson({ attemptId, atMs }) });
}

type Stepped =
  | {
      readonly kind: 'stepped' | 'stale';
      readonly command: StoredCommand;
      readonly halts?: readonly StoredHalt[] | null;
    }
  | { readonly kind: 'fenced' };

/**
 * One step of one command: its row, an attempt's row, evidence and the event, in one round trip and
 * one commit.
 */
export async function stepCommand({ groups }: Grouped, step: CommandStep, fence: Fence): Promise<StepResult> {
  const of = [step.commandId];
  return stepResult(await groups.write<Stepped>({ name: 'step_command', fence, of, body: storableJson(step) }));
}

/** The same under a second principal's word: see `doAct`. */
export async function stepApproved(
  deps: RetryDeps & { readonly pool: Pool },
  { approval, ...step }: CommandStep,
  { shard, epoch }: Fence,
): Promise<StepResult> {
  const result = await doAct<Stepped | null>(deps, approval, {
    call: 'public.step_command($1, $2, $3)',
    values: [shard, epoch.toString(), storableJson(step)],
    isDone: "act.result ->> 'kind' = 'stepped'",
  });
  return result === 'not_waiting' ? { kind: result } : stepResult(result);
}

function stepResult(stepped: Stepped | null | undefined): StepResult {
  const result = stepped ?? { kind: 'fenced' };
  if (result.kind === 'fenced') return result;
  const { kind, command, halts } = result;
  return { kind, command: decodeCommand(command), ...(halts && { halts: halts.map(toHalt) }) };
}

type Noted =
  | { readonly kind: 'fenced' }
  | (Omit<Extract<MissResult, { kind: 'noted' }>, 'moved'> & { readonly moved: readonly StoredCommand[] });

/** One more complete read that missed these. Writes counts and evidence, no step and no event. */
export async function noteMisses({ groups }: Grouped, misses: readonly Miss[], fence: Fence): Promise<MissResult> {
  const of = misses.map(({ commandId }) => commandId);
  const result = await groups.write<Noted>({ name: 'note_misses', fence, of, body: storableJson(misses) });
  return result.kind === 'fenced' ? result : { ...result, moved: result.moved.map(decodeCommand) };
}

type Deps = RetryDeps & { readonly pool: Pool };

/**
 * Adds true facts beside any step, from any process, under no fence. Rejects with
 * `NO_SUCH_COMMAND`.
 */
export async function addEvidence(
  { groups }: Grouped,
  commandId: string,
  evidence: readonly NewEvidence[],
): Promise<void> {
  await groups.write({ name: 'add_command_evidence', of: [commandId], body: storableJson({ commandId, evidence }) });
}

/** Audit lines, in this order; `again` without those already there. */
export async function addToAuditTrail(
  { groups }: Grouped,
  lines: readonly AuditTrailEntry[],
  again = false,
): Promise<void> {
  await groups.write({ name: 'add_audit_lines', of: ['audit trail'], body: storableJson({ lines, again }) });
}

/** Complete commands in one read: 0.1 s on the server. */
const pageRows = 1_000;

/**
 * Raises the fence and resolves the former holder's attempts, in one transaction. Then reads the
 * commands that still need work. Rejects with `FENCED` if a later holder has taken over. After any
 * other rejection it may be called again under the same epoch.
 *
 * The reads come after the commit, since then no other process steps a command. A hundred thousand
 * unresolved commands must not make the takeover itself run into a statement's deadline, now and at
 * every later try.
 */
export async function takeOverCommands(
  deps: Deps,
  { shard, epoch }: Fence,
  atMs: number,
  recentMs: number,
  haltAt?: HaltBounds,
  onUnreadable: (command: UnreadableCommand) => void = () => {},
): Promise<Command[]> {
  await writeOnce(deps, {
    text: 'select public.take_over_commands($1, $2, $3, $4)',
    values: [shard, epoch.toString(), atMs, haltAt === undefined ? null : storableJson(haltAt)],
  });
  const ids = await unresolvedIds(deps, shard, atMs - recentMs);
  const commands: Command[] = [];
  for (let from = 0; from < ids.length; from += pageRows) {
    commands.push(...(await readByIds(deps, ids.slice(from, from + pageRows), onUnreadable)));
  }
  return commands;
}

/** Commands not final, or final since `sinceMs`; oldest first. Each half uses its own index. */
async function unresolvedIds(deps: Deps, shard: number, sinceMs: number): Promise<string[]> {
  const { rows } = await retryTransaction(deps, () =>
    deps.pool.query<{ command_id: string }>(
      `select command_id, created_at from public.commands where shard = $1 and resolved_at is null
       union all
       select command_id, created_at from public.commands where shard = $1 and resolved_at >= public.ms_to_time($2)
       order by created_at, command_id`,
      [shard, sinceMs],
    ),
  );
  return rows.map(({ command_id }) => command_id);
}

async function readByIds(
  deps: Deps,
  ids: readonly string[],
  onUnreadable: (command: UnreadableCommand) => void,
): Promise<Command[]> {
  const { rows } = await retryTransaction(deps, () =>
    deps.pool.query<{ account_id: string; command: StoredCommand }>(
      `select c.account_id, public.command_json(c) as command from unnest($1::uuid[]) with ordinality as k(command_id, place)
       join public.commands c using (command_id) order by k.place`,
      [ids],
    ),
  );
  return readableRows(
    rows,
    ({ command }) => decodeCommand(command),
    ({ fault }, { account_id: accountId, command: { commandId, resolvedAtMs, updatedAtMs } }) =>
      onUnreadable({ commandId, accountId, isFinal: resolvedAtMs !== null, updatedAtMs, fault }),
  );
}

/**
 * Writes a cancel-all with its list, unless its key is known. By `open_cancel_all` in
 * `src/store/sql/halts.sql`.
 */
export async function openCancelAll(
  deps: RetryDeps & { readonly pool: Pool },
  cancelAll: NewCancelAll,
  { shard, epoch }: Fence,
): Promise<OpenCancelAllResult> {
  const [row] = await writeOnce<{ result: OpenCancelAllResult }>(deps, {
    text: 'select public.open_cancel_all($1, $2, $3) as result',
    values: [shard, epoch.toString(), storableJson(cancelAll)],
  });
  return row?.result ?? { kind: 'fenced' };
}

/** False: fenced. */
export async function endCancelAll(
  deps: RetryDeps & { readonly pool: Pool },
  cancelAllId: string,
  atMs: number,
  { shard, epoch }: Fence,
): Promise<boolean> {
  const [row] = await writeOnce<{ held: boolean }>(deps, {
    text: 'select public.end_cancel_all($1, $2, $3, $4) as held',
    values: [shard, epoch.toString(), cancelAllId, atMs],
  });
  return row?.held === true;
}

/** The cancel-all holding the key, as `open_cancel_all` sees it. */
export async function readCancelAll(
  pool: Pool,
  shard: number,
  principal: string,
  idempotencyKey: string,
): Promise<NewCancelAll | undefined> {
  if (`${principal}${idempotencyKey}`.includes('\0')) return undefined;
  const { rows } = await pool.query<{ cancelAll: NewCancelAll }>(
    `select public.cancel_all_json(c) as "cancelAll" from public.cancel_alls c
     where shard = $1 and principal = $2 and idempotency_key = $3 and key_held and public.cancel_all_holds_key(c, clock_timestamp())`,
    [shard, principal, idempotencyKey],
  );
  return rows[0]?.cancelAll;
}

/** The shard's cancel-alls in force, oldest first. */
export async function readCancelAllsInForce(pool: Pool, shard: number): Promise<NewCancelAll[]> {
  const { rows } = await pool.query<{ cancelAll: NewCancelAll }>(
    `select public.cancel_all_json(c) as "cancelAll" from public.cancel_alls c
     where shard = $1 and ended_at is null order by created_at, cancel_all_id`,
    [shard],
  );
  return rows.map(({ cancelAll }) => cancelAll);
}

interface PlaceRow {
  readonly account_id: string;
  readonly stream: Stream;
  readonly command_id: string;
  readonly symbol: string;
  readonly side: string;
  readonly principal: string;
  readonly refs: string[];
}

/**
 * Places in these accounts that are not final and have no known order. By the index of commands not
 * final.
 */
export async function readUnseenPlaces(
  pool: Pool,
  accountIds: readonly string[],
): Promise<(PlaceOfAccount & Selectable)[]> {
  const { rows } = await pool.query<PlaceRow>(
    `select account_id, stream, command_id, symbol, side, principal,
       array_remove(array_prepend(c.caller_ref, array(select a.attempt_id from public.attempts a where a.command_id = c.command_id)), null) as refs
     from public.commands c
     where resolved_at is null and account_id = any($1) and kind = 'place' and order_id is null
     order by account_id, created_at, command_id`,
    [accountIds],
  );
  return rows.map(({ account_id, stream, command_id, symbol, side, principal, refs }) => ({
    ...{ accountId: account_id, stream, commandId: command_id },
    ...{ symbol, side, principal, references: refs },
  }));
}

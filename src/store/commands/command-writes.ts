import type { Command, Reason } from '../../domain/command.ts';
import type { LimitBreach } from '../../domain/limits.ts';
import { type OrderStatus, streams } from '../../domain/order.ts';
import type { Selectable } from '../../domain/select-orders.ts';
import { traits } from '../../domain/streams.ts';
import { retryQuery } from '../session/retry-transaction.ts';
import { constraintOf, JournalError, storable, storableJson, writeOnce } from '../session/write-once.ts';
import type { NewCancelAll, OpenCancelAllResult, PlaceOfAccount } from './cancel-all-journal.ts';
import type { CommandStep, Miss, OpenResult, StepResult } from './command-journal.ts';
import { decodeCommand, type StoredCommand } from './decode-command.ts';
import { appendedAsJson, type GroupWrite, type Said } from './group-commit.ts';
import { doAct, findApproval, type StoredHalt, toHalt } from './halts.ts';
import type { Approving } from './halts-journal.ts';
import type { JournalDeps, JournalRead, JournalWrite } from './journal-calls.ts';
import { type JournalRow, type KnownCommand, markRow, missRow, openingRow, stepRow } from './journal-rows.ts';
import type { Fence } from './term.ts';

/** Each try met another writer, at its key or its number. */
const maxTries = 20;

/**
 * Writes rows, each behind the newest of its command (`ids`). Where another writer was first, or
 * rows known here were lost, it reads and tries again. Undefined: there was nothing to write.
 */
async function writeRows<T>(
  { known, groups }: JournalDeps,
  ids: readonly string[],
  write: Omit<GroupWrite<T | 'again'>, 'of'> & { readonly fence: Fence; readonly of?: readonly string[] },
): Promise<T | undefined> {
  const done: typeof write.done = (said, rows) => {
    const result = write.done(said, rows);
    return said.some((each) => each.said === 'stale') ? 'again' : result;
  };
  for (let tries = 1; tries <= maxTries; tries += 1) {
    await known.load(ids, write.fence.shard);
    let result: T | 'again' | undefined = 'again';
    try {
      result = await groups.write({ of: ids, ...write, done });
      // A write before it failed, and they were forgotten while it waited.
      if (result === undefined && ids.some((id) => known.get(id) === undefined)) result = 'again';
    } catch (error) {
      if (!['journal_numbers', 'journal_one_per_key'].includes(constraintOf(error) ?? '')) throw error;
    } finally {
      if (result === 'again') for (const id of ids) known.forget(id);
    }
    if (result !== 'again') return result;
  }
  throw new JournalError('40001', true, new Error('the rows of these commands do not come to rest'));
}

/** The command behind a committed row, with its order's status. */
function keepWritten(
  { known, groups, checkpoint }: JournalDeps,
  { command: made, number, kind, attempt }: JournalRow,
  said: Said,
): Command {
  const { orderStatus: _before, ...command } = made;
  const status = said.order_status === null ? {} : { orderStatus: said.order_status as OrderStatus };
  const written = { ...command, ...status };
  known.keep({ command: written, number });
  if (kind === 'opening' || kind === 'step') {
    groups.numbers.keepStep(written);
    checkpoint?.saw(['step', written.commandId, written.version, written.updatedAtMs]);
  } else if (kind === 'mark' && attempt !== undefined) checkpoint?.saw(['sent', attempt.attemptId]);
  groups.attempts.keep(written);
  return written;
}

/**
 * Writes the command with its first attempt: one row, on every caller's critical path. If it may
 * not begin as sending, a second statement writes it as prepared.
 */
export const openCommand: JournalWrite<'open'> = async (deps, command, fence) => {
  const { principal, idempotencyKey, callerRef, callerRefOnce, supersedes, request } = command;
  const asked = storable(command);
  let { sendingAtMs } = asked;
  const of = [
    `key ${JSON.stringify([principal, idempotencyKey])}`,
    ...(callerRefOnce === true ? [`reference ${JSON.stringify([principal, callerRef])}`] : []),
    ...(supersedes === undefined ? [] : [`successor of ${supersedes}`]),
  ];
  const opened = await writeRows<OpenResult>(deps, [], {
    ...{ fence, of, ...(request.kind !== 'cancel' && { account: `account ${request.accountId}` }) },
    rows: () => [openingRow(asked, fence, sendingAtMs)],
    done: ([said], [row]) => {
      const { said: kind, more } = said as Said;
      switch (kind) {
        case 'held':
          sendingAtMs = undefined;
          return 'again';
        case 'done':
          deps.groups.limited = more === true;
          return { kind: 'opened', command: keepWritten(deps, row as JournalRow, said as Said) };
        case 'replayed':
          return { kind, command: decodeCommand(more as StoredCommand) };
        case 'limited':
          return { kind, breach: more as LimitBreach };
        default:
          return { kind } as OpenResult;
      }
    },
  });
  return opened as OpenResult;
};

/**
 * PREPARED → SENDING. Only `true`, which comes after the commit, permits the one write. A Reason:
 * it may not be sent any more.
 */
export const markSending: JournalWrite<'markSending'> = async (deps, attemptId, atMs, fence) => {
  const { known } = deps;
  const commandId = await known.ofAttempt(attemptId);
  if (commandId === undefined) return false;
  const marked = await writeRows<boolean | Reason>(deps, [commandId], {
    fence,
    rows: () => {
      const now = known.get(commandId);
      const attempt = now?.command.attempts.find((each) => each.attemptId === attemptId);
      const may = now?.command.state === 'open' && attempt?.state === 'prepared' && attempt.epoch === fence.epoch;
      return may ? [markRow(now, attempt, atMs, fence)] : [];
    },
    done: ([said], [row]) => {
      if (said?.said === 'refused') return said.more as Reason;
      if (said?.said !== 'done') return false;
      keepWritten(deps, row as JournalRow, said);
      return true;
    },
  });
  return marked ?? false;
};

/**
 * One step, one row. `approval`: by a second principal's word, in the transaction that spends it
 * (`doAct`).
 */
export const stepCommand: JournalWrite<'step'> = async (deps, { approval, mayWait = false, ...given }, fence) => {
  const { known } = deps;
  const step = storable(given);
  const { commandId } = step;
  const around = async (values: readonly unknown[]): Promise<readonly Said[]> => {
    const isDone = "act.result -> 0 ->> 'said' = 'done'";
    const said = await doAct<readonly Said[]>(deps, approval, { call: appendedAsJson, values, isDone });
    return said === 'not_waiting' ? [{ said, order_status: null, more: null }] : said;
  };
  const stepped = await writeRows<StepResult>(deps, [commandId], {
    ...{ fence, mayWait, ...(approval !== undefined && { around }) },
    rows: () => {
      const now = known.get(commandId);
      return now !== undefined && isUnmoved(now.command, step) ? [stepRow(now, step, fence)] : [];
    },
    done: ([said], [row]) => {
      if (said?.said !== 'done') return { kind: said?.said } as StepResult;
      const command = keepWritten(deps, row as JournalRow, said);
      const halts = said.more as readonly StoredHalt[] | null;
      return { kind: 'stepped', command, ...(halts !== null && { halts: halts.map(toHalt) }) };
    },
  });
  if (stepped !== undefined) return stepped;
  if (approval !== undefined && !(await stillWaits(deps, approval))) return { kind: 'not_waiting' };
  if (!(await isHeld(deps, fence))) return { kind: 'fenced' };
  // The newest row, whatever was known here: it may have been lost.
  known.forget(commandId);
  const [now] = await known.load([commandId], fence.shard);
  return { kind: 'stale', command: (now as KnownCommand).command };
};

/** The command has moved, perhaps by this very approval. */
async function stillWaits({ pool }: JournalDeps, { approvalId, by }: Approving): Promise<boolean> {
  const waiting = await findApproval(pool, approvalId);
  return waiting !== undefined && waiting.by !== by;
}

/** For writes that came to nothing, and so did not ask. */
async function isHeld(deps: JournalDeps, { shard, epoch }: Fence): Promise<boolean> {
  const text = 'select from public.shards where shard = $1 and epoch = $2';
  return (await retryQuery(deps, text, [shard, epoch.toString()])).length > 0;
}

function isUnmoved(command: Command, { version, attempt }: CommandStep): boolean {
  const its = command.attempts.find(({ attemptId }) => attemptId === attempt?.attemptId);
  return command.version === version && its?.state === attempt?.from;
}

/** One more complete read that missed these. Rows with a count and evidence, no step. */
export const noteMisses: JournalWrite<'noteMisses'> = async (deps, misses, fence) => {
  const noted: Pick<Command, 'commandId' | 'misses'>[] = [];
  const asked = storable(misses);
  const left = () => asked.filter(({ commandId }) => !noted.some((each) => each.commandId === commandId));
  const ids = (of: readonly Miss[]) => of.map(({ commandId }) => commandId);
  const result = await writeRows<'fenced' | 'noted'>(deps, ids(asked), {
    fence,
    rows: () =>
      left().flatMap(({ commandId, version, evidence }) => {
        const now = deps.known.get(commandId);
        const counts = now?.command.state === 'unknown' && now.command.version === version;
        return counts ? [missRow(now, evidence, fence)] : [];
      }),
    done: (said, rows) => {
      for (const [i, answer] of said.entries()) {
        if (answer.said !== 'done') continue;
        const { commandId, misses: count } = keepWritten(deps, rows[i] as JournalRow, answer);
        noted.push({ commandId, misses: count });
      }
      return said.some((each) => each.said === 'fenced') ? 'fenced' : 'noted';
    },
  });
  if (result === 'fenced' || (result === undefined && !(await isHeld(deps, fence)))) return { kind: 'fenced' };
  const moved = await deps.known.load(ids(left()), fence.shard);
  return { kind: 'noted', noted, moved: moved.map(({ command }) => command) };
};

/**
 * Adds true facts beside any row, from any process, under no fence. Rejects with `NO_SUCH_COMMAND`.
 */
export const addEvidence: JournalWrite<'addEvidence'> = async (deps, commandId, evidence) => {
  await writeOnce(deps, { text: 'select public.add_facts($1, $2)', values: [commandId, storableJson(evidence)] });
};

/** Audit lines, in this order; `again` without those already there. */
export const addToAuditTrail: JournalWrite<'addToAuditTrail'> = async (
  { groups },
  lines,
  again = false,
  mayWait = false,
) => {
  await groups.write({
    ...{ of: ['audit trail'], mayWait, lines: storableJson({ lines, again }) },
    rows: () => [],
    done: () => undefined,
  });
};

/**
 * Writes a cancel-all with its list, unless its key is known. By `open_cancel_all` in
 * `src/store/sql/halts.sql`.
 */
export const openCancelAll: JournalWrite<'openCancelAll'> = async (deps, cancelAll, { shard, epoch }) => {
  const [row] = await writeOnce<{ result: OpenCancelAllResult }>(deps, {
    text: 'select public.open_cancel_all($1, $2, $3) as result',
    values: [shard, epoch.toString(), storableJson(cancelAll)],
  });
  const { result = { kind: 'fenced' } } = row ?? {};
  if (result.kind === 'opened') deps.checkpoint?.saw(['cancel_all', result.cancelAll.cancelAllId]);
  return result;
};

/** False: fenced. */
export const endCancelAll: JournalWrite<'endCancelAll'> = async (deps, cancelAllId, atMs, { shard, epoch }) => {
  const [row] = await writeOnce<{ held: boolean }>(deps, {
    text: 'select public.end_cancel_all($1, $2, $3, $4) as held',
    values: [shard, epoch.toString(), cancelAllId, atMs],
  });
  return row?.held === true;
};

/** The cancel-all holding the key, as `open_cancel_all` sees it. */
export const readCancelAll: JournalRead<'findCancelAll'> = async (pool, shard, principal, idempotencyKey) => {
  if (`${principal}${idempotencyKey}`.includes('\0')) return undefined;
  const { rows } = await pool.query<{ cancelAll: NewCancelAll }>(
    `select public.cancel_all_json(c) as "cancelAll" from public.cancel_alls c
     where shard = $1 and principal = $2 and idempotency_key = $3 and key_held and public.cancel_all_holds_key(c, clock_timestamp())`,
    [shard, principal, idempotencyKey],
  );
  return rows[0]?.cancelAll;
};

/** The shard's cancel-alls in force, oldest first. */
export const readCancelAllsInForce: JournalRead<'cancelAllsInForce'> = async (pool, shard) => {
  const { rows } = await pool.query<{ cancelAll: NewCancelAll }>(
    `select public.cancel_all_json(c) as "cancelAll" from public.cancel_alls c
     where shard = $1 and ended_at is null order by created_at, cancel_all_id`,
    [shard],
  );
  return rows.map(({ cancelAll }) => cancelAll);
};

/**
 * Commands in these accounts that are not final, make an order, and have none that is known. By the
 * index of commands not final. A replace has symbol and side of the order before.
 */
export const readUnseenPlaces: JournalRead<'unseenPlaces'> = async (pool, accountIds) => {
  const { rows } = await pool.query<PlaceOfAccount & Selectable>(
    `select c.account_id as "accountId", c.stream, c.command_id as "commandId", coalesce(c.symbol, o.symbol) as symbol, coalesce(c.side, o.state ->> 'side', 'unknown') as side, c.principal,
       array_remove(array_prepend(c.caller_ref, array(select a.attempt_id from public.attempts a where a.command_id = c.command_id)), null) as references
     from public.open_commands w join public.commands c using (command_id)
     left join public.current_orders o on c.kind = 'replace' and o.stream = c.stream and o.order_id = c.order_id
     where w.account_id = any($1) and w.standing <> 'resolved' and (c.kind = 'place' and c.order_id is null
       or c.kind = 'replace' and c.stream = any($2) and not exists (select from public.order_bindings b where b.command_id = c.command_id and b.matches))
     order by c.account_id, c.created_at, c.command_id`,
    [accountIds, streams.filter((stream) => traits[stream].replaces === 'new_order')],
  );
  return rows;
};

import { type Attempt, type Command, isDoubtful, isFinal } from '../../domain/command.ts';
import { present } from '../../domain/present.ts';
import { textArray } from '../orders/binary-array.ts';
import { storableJson } from '../session/write-once.ts';
import type { CommandStep, NewCommand, NewEvidence } from './command-journal.ts';
import type { Fence } from './term.ts';

/** A command by its newest row. */
export interface KnownCommand {
  readonly command: Command;
  /** The row's; the next one has the number behind it. */
  readonly number: number;
}

/** One row of the journal, and the command behind it. */
export interface JournalRow extends KnownCommand {
  readonly fence: Fence;
  readonly kind: 'opening' | 'step' | 'mark' | 'miss';
  /** The command before it. Left out: this row opens it. */
  readonly before?: Command;
  /** The attempt it moves or opens, as it is after this row. */
  readonly attempt?: Attempt;
  /** It prepares this attempt. */
  readonly attemptId?: string;
  readonly atMs: number;
  readonly body: string;
  /** An opening's own columns. */
  readonly opening?: Readonly<Record<string, unknown>>;
  /** JSON. An opening: the whole `NewCommand`. A step: the halts that it may raise. */
  readonly more: string;
}

/** Attempt 1 begins SENDING at `sendingAtMs`; left out: PREPARED. */
export function openingRow(asked: NewCommand, fence: Fence, sendingAtMs: number | undefined): JournalRow {
  const { requestHash, request, baseline, deadlineAtMs, atMs, measure, tokenNumber } = asked;
  const command = opened(asked, fence, sendingAtMs);
  const [attempt] = command.attempts;
  const { symbol, side } = request.kind === 'place' ? request.terms : {};
  return {
    ...{ fence, kind: 'opening', command, number: 1, atMs },
    body: storableJson({ requestHash, request, baseline, deadlineAtMs, ...bodyOf(command, atMs) }),
    ...(attempt !== undefined && { attempt, attemptId: attempt.attemptId }),
    opening: {
      ...{ principal: asked.principal, idempotency_key: asked.idempotencyKey, key_held: true, symbol, side },
      ...{ caller_ref: asked.callerRef, supersedes: asked.supersedes },
      ...{ exposure: measure?.exposure, token_number: tokenNumber },
    },
    more: storableJson({ ...asked, ...seenWith(undefined, command) }),
  };
}

/** PREPARED → SENDING: no step, so the version and its time stay. */
export function markRow({ command, number }: KnownCommand, attempt: Attempt, atMs: number, fence: Fence): JournalRow {
  const sending: Attempt = { ...attempt, state: 'sending', sendingAtMs: atMs };
  const next = { ...command, attempts: changed(command, sending) };
  return { ...rowBehind({ command, number }, next, fence, atMs), kind: 'mark', attempt: sending };
}

export function missRow({ command, number }: KnownCommand, evidence: NewEvidence, fence: Fence): JournalRow {
  const next = { ...command, misses: command.misses + 1 };
  return { ...rowBehind({ command, number }, next, fence, evidence.atMs, [evidence]), kind: 'miss' };
}

export function stepRow({ command, number }: KnownCommand, step: CommandStep, fence: Fence): JournalRow {
  const { haltAt, lateLanding, nextAttemptId, atMs, evidence } = step;
  const next = stepped(command, step, fence);
  const attempt = next.attempts.find(({ attemptId }) => attemptId === step.attempt?.attemptId);
  const doubtful = isDoubtful(step.to) && !isDoubtful(command.state);
  return {
    ...rowBehind({ command, number }, next, fence, atMs, evidence, { ...(doubtful && { haltAt }), lateLanding }),
    kind: 'step',
    ...(attempt !== undefined && { attempt }),
    ...(nextAttemptId !== undefined && { attemptId: nextAttemptId }),
  };
}

function rowBehind(
  { command: before, number }: KnownCommand,
  command: Command,
  fence: Fence,
  atMs: number,
  evidence: readonly NewEvidence[] = [],
  halts: Readonly<Record<string, unknown>> = {},
) {
  const body = storableJson(bodyOf(command, atMs, evidence));
  const more = storableJson({ ...halts, ...seenWith(before, command) });
  return { fence, before, command, number: number + 1, atMs, body, more };
}

/** The command's changes without a column, and the facts beside them. */
function bodyOf(command: Command, atMs: number, evidence: readonly NewEvidence[] = []) {
  const { updatedAtMs, reason, presumedAbsent, seenPendingAt, misses, attempts } = command;
  return {
    ...(updatedAtMs !== atMs && { updatedAtMs }),
    reason,
    ...(presumedAbsent && { presumedAbsent }),
    ...{ pendingRevision: seenPendingAt?.revision, pendingVersion: seenPendingAt?.sourceVersion },
    ...(misses > 0 && { misses }),
    attempts: attempts.map(briefOf),
    ...(evidence.length > 0 && { evidence }),
  };
}

/**
 * Each row has them all, so they are short. The first one's id, epoch and time are the opening's.
 */
function briefOf({ attemptId, number, epoch, preparedAtMs, state, sendingAtMs, answeredAtMs, reason }: Attempt) {
  const changes = [state, sendingAtMs ?? null, answeredAtMs ?? null, reason ?? null];
  if (number > 1) return [...changes, attemptId, epoch, preparedAtMs];
  return changes.slice(0, changes.findLastIndex((each) => each !== null) + 1);
}

/** Whether `open_commands` has it, and as what. */
function standingOf({ state, attempts }: Command): 'open' | 'doubtful' | 'resolved' | 'gone' {
  if (!isFinal(state)) return isDoubtful(state) ? 'doubtful' : 'open';
  return attempts.some(isInFlight) ? 'resolved' : 'gone';
}

/** `standing`: where it changes. */
function seenWith(before: Command | undefined, command: Command) {
  const [was, is] = [before === undefined ? 'gone' : standingOf(before), standingOf(command)];
  return { ...(was !== is && { standing: is }), incarnation: command.baseline?.incarnation };
}

/**
 * The table's columns, by name. Account, stream and request's kind are kept of an opening alone.
 */
function columnsOf({ fence, kind, before, command, number, attempt, ...row }: JournalRow, seq = 0n) {
  const { kind: requestKind, stream, accountId } = command.request;
  const attemptBefore = before?.attempts.find(({ attemptId }) => attemptId === attempt?.attemptId);
  return {
    ...{ shard: fence.shard, epoch: fence.epoch.toString(), seq: seq.toString(), command_id: command.commandId },
    ...{ number, version: command.version, kind, from_state: before?.state, state: command.state },
    ...{ attempt: attempt?.number, attempt_from: attemptBefore?.state, attempt_state: attempt?.state },
    ...{ attempt_id: row.attemptId, order_id: command.orderId, body: row.body },
    ...{ at: timeOf(row.atMs), resolved_at: timeOf(command.resolvedAtMs) },
    ...{ request_kind: requestKind, stream, account_id: accountId, ...row.opening },
  };
}

function timeOf(atMs: number | undefined): string | undefined {
  return atMs === undefined ? undefined : new Date(Math.round(atMs)).toISOString();
}

/** `append_journal` takes these. `seqs`: the rows' numbers in their shards. */
export function appendValues(
  rows: readonly JournalRow[],
  seqs: readonly bigint[],
  lines: readonly string[],
  alone: boolean,
): unknown[] {
  const more = rows.map((row) => row.more);
  const columns = rows.map((row, i) => columnsOf(row, seqs[i]));
  return [alone, JSON.stringify(columns), textArray(more, 'json'), textArray(lines, 'json')];
}

/** The command as `open` writes it. */
export function opened(asked: NewCommand, fence: Fence, sendingAtMs?: number): Command {
  const { attemptId, refusal, atMs, callerRef, supersedes, baseline, request } = asked;
  const orderId = asked.orderId ?? (request.kind === 'place' ? undefined : request.orderId);
  return {
    commandId: asked.commandId,
    shard: fence.shard,
    principal: asked.principal,
    idempotencyKey: asked.idempotencyKey,
    requestHash: asked.requestHash,
    request,
    ...present({ callerRef, supersedes, orderId, baseline, reason: refusal, resolvedAtMs: refusal && atMs }),
    state: refusal === undefined ? 'open' : 'refused',
    version: 1,
    presumedAbsent: false,
    misses: 0,
    deadlineAtMs: asked.deadlineAtMs,
    createdAtMs: atMs,
    updatedAtMs: atMs,
    attempts:
      attemptId === undefined
        ? []
        : [
            {
              ...{ attemptId, number: 1, state: sendingAtMs === undefined ? 'prepared' : 'sending' },
              ...{ epoch: fence.epoch, preparedAtMs: atMs, ...(sendingAtMs !== undefined && { sendingAtMs }) },
            },
          ],
  };
}

/**
 * The command behind a step. Its attempt is in the step's `from`. A reason belongs to its state: a
 * place that was answered 504 and is found at work has no fault any more. Attempts and evidence
 * keep the former one.
 */
export function stepped(command: Command, step: CommandStep, fence: Fence): Command {
  const { to, atMs, orderId, seenPendingAt, misses } = step;
  const { resolvedAtMs, reason: former, ...rest } = command;
  const reason = step.reason ?? (to === command.state ? former : undefined);
  return {
    ...rest,
    ...present({ orderId, reason, seenPendingAt, misses }),
    ...(isFinal(to) && { resolvedAtMs: resolvedAtMs ?? atMs }),
    presumedAbsent: to === 'unknown' && (step.presumedAbsent ?? command.presumedAbsent),
    state: to,
    version: command.version + 1,
    updatedAtMs: atMs,
    attempts: attemptsAfter(command, step, fence),
  };
}

function attemptsAfter(command: Command, { attempt: move, nextAttemptId, atMs }: CommandStep, fence: Fence) {
  const was = command.attempts.find(({ attemptId }) => attemptId === move?.attemptId);
  const { to: state, reason } = move ?? {};
  const attempts =
    was === undefined || state === undefined
      ? command.attempts
      : changed(command, { ...was, state, answeredAtMs: atMs, ...(reason && { reason }) });
  if (nextAttemptId === undefined) return attempts;
  const next: Attempt = {
    ...{ attemptId: nextAttemptId, number: attempts.length + 1, state: 'prepared' },
    ...{ epoch: fence.epoch, preparedAtMs: atMs },
  };
  return [...attempts, next];
}

/** Its attempts, with one of them as `by`. */
export function changed({ attempts }: Command, by: Attempt): readonly Attempt[] {
  return attempts.map((attempt) => (attempt.attemptId === by.attemptId ? by : attempt));
}

/**
 * A takeover's step for a command from an earlier epoch: its attempt in flight may have been
 * written (sending), or was not (prepared). Undefined: nothing was under way. A command resolved
 * before its answer came keeps its result; only its attempt changes.
 */
export function takenOver(command: Command, { epoch }: Fence, atMs: number): CommandStep | undefined {
  const last = command.attempts.at(-1);
  if (last === undefined || last.epoch >= epoch) return undefined;
  const open = command.state === 'open';
  if (!isInFlight(last) && !open) return undefined;
  const reason = { code: 'TAKEN_OVER', message: 'the process that had it in hand is gone' };
  const ends = { prepared: 'not_sent', sending: 'unknown' } as const;
  const to = last.state === 'prepared' || last.state === 'sending' ? ends[last.state] : last.state;
  const { commandId, version } = command;
  const detail = { epoch: epoch.toString(), was: last.state };
  return {
    ...{ commandId, version, atMs, to: open ? to : command.state, ...(open && { reason }) },
    ...(isInFlight(last) && { attempt: { attemptId: last.attemptId, from: last.state, to, reason } }),
    evidence: [{ kind: 'note', code: 'taken_over', detail, attemptId: last.attemptId, atMs }],
  };
}

/** Its answer is not there. */
function isInFlight({ state }: Attempt): boolean {
  return state === 'prepared' || state === 'sending';
}

import { type Attempt, type Command, isFinal } from '../../domain/command.ts';
import type { CommandStep, NewCommand } from './command-journal.ts';
import type { Fence } from './term.ts';

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
    ...(callerRef !== undefined && { callerRef }),
    ...(supersedes !== undefined && { supersedes }),
    ...(orderId !== undefined && { orderId }),
    ...(baseline && { baseline }),
    ...(refusal && { reason: refusal, resolvedAtMs: atMs }),
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
  const resolved = isFinal(to) ? { resolvedAtMs: resolvedAtMs ?? atMs } : {};
  return {
    ...rest,
    ...resolved,
    ...(reason && { reason }),
    ...(orderId !== undefined && { orderId }),
    presumedAbsent: to === 'unknown' && (step.presumedAbsent ?? command.presumedAbsent),
    ...(seenPendingAt && { seenPendingAt }),
    ...(misses !== undefined && { misses }),
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
export function isInFlight({ state }: Attempt): boolean {
  return state === 'prepared' || state === 'sending';
}

import { type Attempt, type Command, isFinal } from '../../../src/domain/command.ts';
import type { CommandStep, NewCommand } from '../../../src/store/commands/command-journal.ts';
import type { Fence } from '../../../src/store/commands/term.ts';

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

/** The command behind a step. */
export function stepped(command: Command, step: CommandStep, attempts: readonly Attempt[]): Command {
  const { to, atMs, reason, orderId, seenPendingAt, misses } = step;
  const { resolvedAtMs, ...rest } = command;
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
    attempts,
  };
}

/** Its attempts, with one of them as `by`. */
export function changed({ attempts }: Command, by: Attempt): readonly Attempt[] {
  return attempts.map((attempt) => (attempt.attemptId === by.attemptId ? by : attempt));
}

import { type Attempt, type Baseline, type Command, type ResultWord, replacedOrder } from './command.ts';
import { formatIfKnown, formatInstant } from './instant.ts';

export const commandResultSchema = 'tidemark.command-result.v1';

/** The result callers see. An open command's is not known, so it is `unknown`. */
export function resultOf({ state }: Pick<Command, 'state'>): ResultWord {
  return state === 'open' ? 'unknown' : state;
}

/**
 * The command after one step: the text for `tidemark.command-results.v1` (docs/consuming.md).
 * `version` rises by one with every step, so (commandId, version) shows a repeat and a gap.
 * `generation` is there from 2 on: a database that lost commits may give a version again, and the
 * higher one counts. int64 and decimals are strings. The principal and the idempotency key are left
 * out: they stay with us.
 */
export function encodeCommandResult(command: Command, generation = 1): string {
  const { commandId, version, request, orderId, orderStatus, callerRef, supersedes, seenPendingAt, reason } = command;
  return JSON.stringify({
    eventId: `${commandId}:${version}`,
    schema: commandResultSchema,
    commandId,
    generation: generation > 1 ? generation : undefined,
    version,
    kind: request.kind,
    stream: request.stream,
    accountId: request.accountId,
    orderId,
    orderStatus,
    replaces: replacedOrder(command),
    callerRef,
    supersedes,
    result: resultOf(command),
    state: command.state,
    presumedAbsent: command.presumedAbsent ? true : undefined,
    seenPendingAt: seenPendingAt && positionRecord(seenPendingAt),
    reason,
    terms: request.kind === 'cancel' ? undefined : request.terms,
    attempts: command.attempts.map(attemptRecord),
    createdAt: formatInstant(command.createdAtMs),
    at: formatInstant(command.updatedAtMs),
    resolvedAt: formatIfKnown(command.resolvedAtMs),
  });
}

/** int64 as text. */
export function positionRecord({ revision, sourceVersion }: Pick<Baseline, 'revision' | 'sourceVersion'>) {
  return { revision, sourceVersion: sourceVersion?.toString() };
}

export function attemptRecord(attempt: Attempt) {
  const { attemptId, number, state, preparedAtMs, sendingAtMs, answeredAtMs, reason } = attempt;
  return {
    attemptId,
    number,
    state,
    preparedAt: formatInstant(preparedAtMs),
    sendingAt: formatIfKnown(sendingAtMs),
    answeredAt: formatIfKnown(answeredAtMs),
    reason,
  };
}

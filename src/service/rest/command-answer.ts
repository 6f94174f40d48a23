import { type Attempt, type Command, type Evidence, isUnresolved, replacedOrder } from '../../domain/command.ts';
import { attemptRecord, positionRecord, resultOf } from '../../domain/encode-command-result.ts';
import { formatIfKnown, formatInstant } from '../../domain/instant.ts';
import type { NextProbe } from '../commands/commands.ts';

/**
 * A command as callers see it: `{ commandId, result, orderId?, orderStatus?, attempts, evidence?
 * }` and the fields around it. An open command's result is not known yet, so it is `unknown`.
 * `evidence` is present if it was read. Undefined fields are left out of the JSON, here as in every
 * answer.
 */
export function commandAnswer(command: Command, evidence?: readonly Evidence[]) {
  const { commandId, request, orderId, state, baseline, seenPendingAt } = command;
  return {
    commandId,
    kind: request.kind,
    stream: request.stream,
    accountId: request.accountId,
    orderId,
    orderStatus: command.orderStatus,
    replaces: replacedOrder(command),
    result: resultOf(command),
    state,
    unresolved: isUnresolved(state),
    presumedAbsent: command.presumedAbsent,
    reason: command.reason ?? (state === 'open' ? notAnswered : undefined),
    terms: request.kind === 'cancel' ? undefined : request.terms,
    callerRef: command.callerRef,
    supersedes: command.supersedes,
    principal: command.principal,
    idempotencyKey: command.idempotencyKey,
    version: command.version,
    misses: command.misses,
    baseline: baseline && { ...baseline, ...positionRecord(baseline) },
    seenPendingAt: seenPendingAt && positionRecord(seenPendingAt),
    createdAt: formatInstant(command.createdAtMs),
    updatedAt: formatInstant(command.updatedAtMs),
    deadlineAt: formatInstant(command.deadlineAtMs),
    resolvedAt: formatIfKnown(command.resolvedAtMs),
    attempts: command.attempts.map((attempt) => ({ ...attemptRecord(attempt), epoch: String(attempt.epoch) })),
    evidence: evidence?.map(evidenceAnswer),
    links: {
      self: commandPath(commandId),
      order: orderId && `/v1/orders/${request.stream}/${encodeURIComponent(orderId)}`,
    },
  };
}

const notAnswered = { code: 'NO_ANSWER_YET', message: 'the platform has not answered yet' };

/** The fields of a command that is not over: the next look for it, and what its caller is to do. */
export function doubtAnswer({ commandId, state, presumedAbsent }: Command, probe: NextProbe | undefined) {
  const nextProbe = probe && { at: formatInstant(probe.atMs), by: probe.by };
  const next = nextProbe === undefined ? '' : `, and asks the platform next at ${nextProbe.at}`;
  const now =
    state === 'conflict'
      ? 'The facts contradict each other, and a person has to resolve it'
      : presumedAbsent
        ? 'Many complete reads did not show it, and a person has to decide'
        : `The service is finding out${next}`;
  const advice = `Do not send it under another key: it could then be there twice. ${now}. Its result will be at ${commandPath(commandId)}.`;
  return { ...(nextProbe && { nextProbe }), ...(isUnresolved(state) && { advice }) };
}

export function commandPath(commandId: string): string {
  return `/v1/commands/${commandId}`;
}

function evidenceAnswer({ number, kind, code, detail, attemptId, atMs }: Evidence) {
  return { number, kind, code, attemptId, at: formatInstant(atMs), detail };
}

/**
 * Attempts and evidence, sorted by time. Entries in the same millisecond keep the order in which
 * they must have happened: an attempt's steps, then facts.
 */
export function commandTimeline(command: Command, evidence: readonly Evidence[]) {
  const entries = [
    ...command.attempts.flatMap(attemptSteps),
    ...evidence.map((fact) => ({ atMs: fact.atMs, entry: { what: 'evidence', ...evidenceAnswer(fact) } })),
  ];
  return entries.sort((a, b) => a.atMs - b.atMs).map(({ atMs, entry }) => ({ at: formatInstant(atMs), ...entry }));
}

function attemptSteps({ attemptId, number, state, reason, preparedAtMs, sendingAtMs, answeredAtMs }: Attempt) {
  const of = { attemptId, number };
  const step = (atMs: number | undefined, entry: object) => (atMs === undefined ? [] : [{ atMs, entry }]);
  return [
    ...step(preparedAtMs, { what: 'prepared', ...of }),
    ...step(sendingAtMs, { what: 'sending', ...of }),
    ...step(answeredAtMs, { what: 'answered', ...of, state, reason }),
  ];
}

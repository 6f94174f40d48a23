import {
  type Attempt,
  type Baseline,
  type Command,
  type Evidence,
  isUnresolved,
  replacedOrder,
} from '../../domain/command.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { NextProbe } from '../commands/commands.ts';

/**
 * A command as callers see it: `{ commandId, result, orderId?, orderStatus?, attempts, evidence?
 * }` and the fields around it. An open command's result is not known yet, so it is `unknown`.
 * `evidence` is present if it was read.
 */
export function commandAnswer(command: Command, evidence?: readonly Evidence[]) {
  const { commandId, request, orderId, orderStatus, state } = command;
  const replaces = replacedOrder(command);
  const reason = command.reason ?? (state === 'open' ? notAnswered : undefined);
  return {
    commandId,
    kind: request.kind,
    stream: request.stream,
    accountId: request.accountId,
    ...(orderId === undefined ? {} : { orderId }),
    ...(orderStatus === undefined ? {} : { orderStatus }),
    ...(replaces === undefined ? {} : { replaces }),
    result: state === 'open' ? 'unknown' : state,
    state,
    unresolved: isUnresolved(state),
    presumedAbsent: command.presumedAbsent,
    ...(reason === undefined ? {} : { reason }),
    ...(request.kind === 'cancel' ? {} : { terms: request.terms }),
    ...(command.callerRef === undefined ? {} : { callerRef: command.callerRef }),
    ...(command.supersedes === undefined ? {} : { supersedes: command.supersedes }),
    principal: command.principal,
    idempotencyKey: command.idempotencyKey,
    version: command.version,
    misses: command.misses,
    ...(command.baseline === undefined ? {} : { baseline: baselineAnswer(command.baseline) }),
    ...(command.seenPendingAt === undefined ? {} : { seenPendingAt: positionAnswer(command.seenPendingAt) }),
    createdAt: formatInstant(command.createdAtMs),
    updatedAt: formatInstant(command.updatedAtMs),
    deadlineAt: formatInstant(command.deadlineAtMs),
    ...(command.resolvedAtMs === undefined ? {} : { resolvedAt: formatInstant(command.resolvedAtMs) }),
    attempts: command.attempts.map(attemptAnswer),
    ...(evidence === undefined ? {} : { evidence: evidence.map(evidenceAnswer) }),
    links: {
      self: commandPath(commandId),
      ...(orderId === undefined ? {} : { order: `/v1/orders/${request.stream}/${encodeURIComponent(orderId)}` }),
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

function baselineAnswer(baseline: Baseline) {
  return { ...baseline, ...positionAnswer(baseline) };
}

/** int64 as text. */
function positionAnswer({ revision, sourceVersion }: { readonly revision: number; readonly sourceVersion?: bigint }) {
  return { revision, ...(sourceVersion === undefined ? {} : { sourceVersion: String(sourceVersion) }) };
}

export function commandPath(commandId: string): string {
  return `/v1/commands/${commandId}`;
}

function attemptAnswer(attempt: Attempt) {
  const { attemptId, number, state, epoch, preparedAtMs, sendingAtMs, answeredAtMs, reason } = attempt;
  return {
    attemptId,
    number,
    state,
    epoch: String(epoch),
    preparedAt: formatInstant(preparedAtMs),
    ...(sendingAtMs === undefined ? {} : { sendingAt: formatInstant(sendingAtMs) }),
    ...(answeredAtMs === undefined ? {} : { answeredAt: formatInstant(answeredAtMs) }),
    ...(reason === undefined ? {} : { reason }),
  };
}

function evidenceAnswer({ number, kind, code, detail, attemptId, atMs }: Evidence) {
  return { number, kind, code, ...(attemptId === undefined ? {} : { attemptId }), at: formatInstant(atMs), detail };
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
  return [
    { atMs: preparedAtMs, entry: { what: 'prepared', ...of } },
    ...(sendingAtMs === undefined ? [] : [{ atMs: sendingAtMs, entry: { what: 'sending', ...of } }]),
    ...(answeredAtMs === undefined
      ? []
      : [
          {
            atMs: answeredAtMs,
            entry: { what: 'answered', ...of, state, ...(reason === undefined ? {} : { reason }) },
          },
        ]),
  ];
}

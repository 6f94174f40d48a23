import type { z } from 'zod';
import type { Attempt, Baseline, Command, CommandRequest, Evidence, Reason } from '../../domain/command.ts';
import type { Order } from '../../domain/order.ts';
import type { SettlingUpdate } from '../../domain/settling.ts';
import type { updateRecord } from '../../schema/update-record.ts';
import type { RestCommand } from './rest-command.ts';

/** A command as REST tells of it, as the rules of settling take it. What the rules never look at (lane, hash) is not told, and stands empty. */
export function decodeCommand(told: RestCommand): Command {
  const { commandId, principal, idempotencyKey, state, version, presumedAbsent, misses, orderId, reason } = told;
  return {
    commandId,
    lane: 0,
    principal,
    idempotencyKey,
    requestHash: '',
    request: requestOf(told),
    state,
    version,
    presumedAbsent,
    misses,
    ...(orderId !== undefined && { orderId }),
    ...(reason !== undefined && { reason: reasonOf(reason) }),
    ...(told.baseline !== undefined && { baseline: baselineOf(told.baseline) }),
    ...(told.seenPendingAt !== undefined && { seenPendingAt: positionOf(told.seenPendingAt) }),
    deadlineAtMs: Date.parse(told.deadlineAt),
    createdAtMs: Date.parse(told.createdAt),
    updatedAtMs: Date.parse(told.updatedAt),
    ...(told.settledAt !== undefined && { settledAtMs: Date.parse(told.settledAt) }),
    attempts: told.attempts.map(attemptOf),
  };
}

export function decodeEvidence({ evidence = [] }: RestCommand): Evidence[] {
  return evidence.map(({ number, kind, code, detail, attemptId, at }) => ({
    number,
    kind,
    code,
    detail,
    ...(attemptId !== undefined && { attemptId }),
    atMs: Date.parse(at),
  }));
}

export function decodeUpdate(record: z.infer<typeof updateRecord>): SettlingUpdate {
  const { revision, sourceVersion, sourceEpoch = 0, cause, order } = record;
  // zod writes an optional field as `T | undefined`; from JSON it is either there or not.
  return { revision, ...versionOf(sourceVersion), sourceEpoch, cause, order: order as Order };
}

function requestOf({ kind, stream, accountId, orderId = '', terms = {} }: RestCommand): CommandRequest {
  // The terms were judged by the shape of their endpoint before they were journaled.
  return (kind === 'place' ? { kind, stream, accountId, terms } : { kind, stream, accountId, orderId, terms }) as CommandRequest;
}

function baselineOf({
  sourceVersion,
  working,
  rejectReason,
  rejectText,
  ...rest
}: NonNullable<RestCommand['baseline']>): Baseline {
  return {
    ...rest,
    ...versionOf(sourceVersion),
    working: working as Baseline['working'],
    ...(rejectReason !== undefined && { rejectReason }),
    ...(rejectText !== undefined && { rejectText }),
  };
}

function positionOf({ revision, sourceVersion }: NonNullable<RestCommand['seenPendingAt']>) {
  return { revision, ...versionOf(sourceVersion) };
}

function versionOf(sourceVersion: string | undefined): { readonly sourceVersion?: bigint } {
  return sourceVersion === undefined ? {} : { sourceVersion: BigInt(sourceVersion) };
}

function attemptOf({
  attemptId,
  number,
  state,
  epoch,
  preparedAt,
  sendingAt,
  answeredAt,
  reason,
}: RestCommand['attempts'][number]): Attempt {
  return {
    attemptId,
    number,
    state,
    epoch: BigInt(epoch),
    preparedAtMs: Date.parse(preparedAt),
    ...(sendingAt !== undefined && { sendingAtMs: Date.parse(sendingAt) }),
    ...(answeredAt !== undefined && { answeredAtMs: Date.parse(answeredAt) }),
    ...(reason !== undefined && { reason: reasonOf(reason) }),
  };
}

function reasonOf({ code, message, status }: NonNullable<RestCommand['reason']>): Reason {
  return { code, message, ...(status !== undefined && { status }) };
}

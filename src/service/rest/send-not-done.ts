import type { FastifyReply } from 'fastify';
import type { Command } from '../../domain/command.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Approval } from '../../store/commands/halts-journal.ts';
import type { Declined } from '../commands/answer.ts';
import type { Requested } from '../commands/commands.ts';
import { maySee } from './auth/principal.ts';
import { commandPath, doubtAnswer } from './command-answer.ts';
import { type FromElsewhere, sendFromElsewhere } from './instances/forwarding.ts';
import type { Besides } from './problem.ts';
import { statusOf } from './problem-codes.ts';
import { sendJson, sendProblem } from './send-answer.ts';

/** Answers for a call that this process has not carried out. */
export function sendNotDone(reply: FastifyReply, answer: Declined | Requested | FromElsewhere): FastifyReply {
  if (answer.kind === 'declined') return sendDecline(reply, answer);
  if (answer.kind === 'requested') return sendJson(reply, 202, { approval: approvalBody(answer.approval) });
  return sendFromElsewhere(reply, answer);
}

/**
 * Answers why nothing was journaled. "Not found" has our own text, also for things that do not
 * belong to the caller.
 */
function sendDecline(
  reply: FastifyReply,
  { code, message, retryAfterMs, breach, prior }: Omit<Declined, 'kind'>,
): FastifyReply {
  if (statusOf(code) === 404) return sendProblem(reply, code);
  if (retryAfterMs !== undefined) reply.header('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  if (breach === undefined) return sendProblem(reply, code, message, prior && priorAnswer(reply, code, prior));
  const { limit, value, bound } = breach;
  return sendProblem(reply, code, message, { breach: { limit, value, bound } });
}

function priorAnswer({ request: { principal } }: FastifyReply, code: string, prior: Command): Besides {
  const { commandId, request } = prior;
  if (principal === undefined || !maySee(principal.accounts, request.accountId)) return {};
  if (code !== 'IDEMPOTENCY_KEY_REUSED') return { commandId, ...doubtAnswer(prior, undefined) };
  return {
    commandId,
    advice: `The command of the key is at ${commandPath(commandId)}. Another request needs another key.`,
  };
}

export function approvalBody({ atMs, expiresAtMs, requestId: _id, ...approval }: Approval) {
  return { ...approval, requestedAt: formatInstant(atMs), expiresAt: formatInstant(expiresAtMs) };
}

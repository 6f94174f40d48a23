import type { FastifyReply } from 'fastify';
import type { Placed, PlacedSecurities } from '../../contract/command-bodies.ts';
import type { Replaced } from '../../contract/replace-bodies.ts';
import { type Command, type CommandRequest, isUnresolved, type PredictionPlaceTerms } from '../../domain/command.ts';
import { formatInstant } from '../../domain/instant.ts';
import { present } from '../../domain/present.ts';
import type { TracedSpan } from '../../observability/tracing.ts';
import type { Approval } from '../../store/commands/halts-journal.ts';
import type { Answer, Declined } from '../commands/answer.ts';
import type { Journaled, Requested, Submission } from '../commands/commands.ts';
import { maySee } from './auth/principal.ts';
import { commandAnswer, commandPath, doubtAnswer } from './command-answer.ts';
import { type FromElsewhere, sendFromElsewhere } from './instances/forwarding.ts';
import type { Besides } from './problem.ts';
import { statusOf } from './problem-codes.ts';
import { preferredWaitSeconds, readIfMatch, setAllowance } from './request-headers.ts';
import type { Call, RouteParts } from './route.ts';
import { sendJson, sendProblem } from './send-answer.ts';

/** A command as a body, a path or a query names it. */
export interface Asked<Request = CommandRequest> extends Pick<Submission, 'callerRef' | 'supersedes'> {
  readonly request: Request;
}

export function placeOf({ body: { stream, accountId, terms, ...named } }: Call<unknown, PlacedSecurities>) {
  return { request: { kind: 'place', stream, accountId, terms } as const, ...named };
}

export function predictionPlaceOf({
  body: { accountId, terms, ...named },
}: Call<unknown, Placed<PredictionPlaceTerms>>) {
  return { request: { kind: 'place', stream: 'prediction', accountId, terms } as const, ...named };
}

export function replaceOf({ body: { stream, accountId, terms, ...named }, params }: Call<unknown, Replaced>) {
  const { orderId = '' } = params;
  return { request: { kind: 'replace', stream, accountId, orderId, terms } as const, ...named };
}

/**
 * As `sendUntraced`, in a span for the request if traces are on. It continues the caller's span.
 */
export async function sendCommand(parts: RouteParts, call: Call<unknown>, asked: Asked): Promise<FastifyReply> {
  const { tracing, clock } = parts;
  if (tracing === undefined) return sendUntraced(parts, call, asked);
  const { request, reply } = call;
  const { method, routeOptions } = request;
  const span = tracing.begin(`${method} ${routeOptions.url}`, {
    kind: 'server',
    parent: tracing.callersSpan(request.headers),
    sinceMs: clock.monotonicMs() - reply.elapsedTime,
    attributes: { 'http.request.method': method, 'http.route': routeOptions.url, 'tidemark.request.id': request.id },
  });
  try {
    return await sendUntraced(parts, { ...call, span }, asked);
  } finally {
    const { statusCode } = reply;
    span.set({ 'http.response.status_code': statusCode });
    span.end({ failed: statusCode >= 500 ? `HTTP ${statusCode}` : undefined });
  }
}

/**
 * The common last part of place, replace and cancel. It reads the command headers, calls
 * `Commands.submit` and sends the answer, or the answer from the account's holder. 200 when the
 * command is not open any more, 202 with its address while it is. 4xx and 5xx mean that nothing was
 * journaled, but for FORWARD_UNANSWERED.
 */
async function sendUntraced(
  parts: RouteParts,
  call: Call<unknown> & { readonly span?: TracedSpan },
  asked: Asked,
): Promise<FastifyReply> {
  const { commands, reads, forwarding } = parts;
  const { request, reply, principal, span } = call;
  const { accountId } = asked.request;
  const ifRevision = asked.request.kind === 'place' ? undefined : readIfMatch(request.headers['if-match']);
  const waitSeconds = preferredWaitSeconds(request.headers['prefer']);
  const submission = {
    ...asked,
    principal: principal.name,
    idempotencyKey: String(request.headers['idempotency-key']),
    requestId: request.id,
    ...present({
      tokenNumber: principal.tokenNumber,
      ifRevision: ifRevision ?? undefined,
      waitMs: waitSeconds && waitSeconds * 1000,
      span: span?.context,
    }),
  };
  const submit = () => commands.submit(submission);
  const passed = { request, reply, traceparent: span?.traceparent };
  const result = await forwarding.enter(passed, accountId, submit, forwarding.untilMs('order'));
  if (result.kind === 'answered' || result.kind === 'unanswered') return sendNotDone(reply, result);
  setAllowance(reply, commands.placeBudget.allowance(accountId));
  if (result.kind === 'declined') return sendNotDone(reply, result);
  if (waitSeconds !== undefined) reply.header('preference-applied', `wait=${waitSeconds}`);
  if (result.replayed) reply.header('idempotent-replayed', 'true');
  // The quick answer needs no second read from the database. A caller that waited, or sent its key
  // again, gets the evidence too.
  if (waitSeconds === undefined && !result.replayed) return sendCommandState(parts, reply, result.command);
  const found = await reads.findCommand(principal.accounts, result.command.commandId).catch(() => undefined);
  const { command } = result;
  const same = found?.command.version === command.version;
  return sendCommandState(
    parts,
    reply,
    command,
    same ? commandAnswer(found.command, found.evidence) : commandAnswer(command),
  );
}

export function sendCommandState(
  { commands }: Pick<RouteParts, 'commands'>,
  reply: FastifyReply,
  command: Command,
  known: object = commandAnswer(command),
): FastifyReply {
  const { commandId } = command;
  reply.header('location', commandPath(commandId));
  const body = { ...known, ...doubtAnswer(command, commands.nextProbe(commandId)) };
  if (!isUnresolved(command.state)) return sendJson(reply, body);
  return sendJson(reply.code(202).header('retry-after', '1'), body);
}

/** One cancel in a cancel-all: its command, or why there is none. */
export function submitResultBody(answer: Answer<Journaled> | undefined): object {
  if (answer === undefined)
    return { code: 'UNDER_WAY', detail: 'its cancel has no answer yet: ask again with the same key' };
  if (answer.kind === 'declined') return { code: answer.code, detail: answer.message };
  const { commandId, result, state, attempts, links } = commandAnswer(answer.command);
  return { commandId, result, state, attempts, links };
}

/** Answers for a call that this process has not carried out. */
export function sendNotDone(reply: FastifyReply, answer: Declined | Requested | FromElsewhere): FastifyReply {
  if (answer.kind === 'declined') return sendDecline(reply, answer);
  if (answer.kind === 'requested') return sendJson(reply.code(202), { approval: approvalBody(answer.approval) });
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

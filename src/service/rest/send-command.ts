import type { FastifyReply } from 'fastify';
import { type Command, isUnresolved } from '../../domain/command.ts';
import type { LimitBreach } from '../../domain/limits.ts';
import type { TracedSpan } from '../../observability/tracing.ts';
import { type DeclineCode, declineCodes, type Submission, type SubmitResult } from '../commands/commands.ts';
import { maySee } from './auth/principal.ts';
import { commandAnswer, commandPath } from './command-answer.ts';
import { type Forwarding, sendFromElsewhere } from './instances/forwarding.ts';
import { preferredWaitSeconds, readIfMatch, setAllowance } from './request-headers.ts';
import type { Call } from './route.ts';
import type { RouteParts } from './route-parts.ts';
import { isMissingCode, sendJson, sendMissing, sendProblem, sendProblemWith } from './send-answer.ts';

/** One second: most unknown commands are settled by then, and asking costs one read by key. */
const retryAfterSeconds = 1;

type Asked = Pick<Submission, 'request' | 'callerRef' | 'supersedes'>;

/**
 * As `sendUntraced`, in a span for the request if traces are on. It continues the caller's span.
 */
export async function sendCommand(parts: RouteParts, call: Call, asked: Asked): Promise<FastifyReply> {
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
 * The common last part of place, replace and cancel. It reads the command headers, checks the
 * account against the token, calls `Commands.submit` and sends the answer, or the answer from the
 * account's holder. 200 when the command is not open any more, 202 with its address while it is.
 * 4xx and 5xx mean that nothing was journaled, but for FORWARD_UNANSWERED.
 */
async function sendUntraced(
  { commands, reads, forwarding }: RouteParts,
  call: Call & { readonly span?: TracedSpan },
  asked: Asked,
): Promise<FastifyReply> {
  const { request, reply, principal, span } = call;
  const { accountId } = asked.request;
  if (!maySee(principal.accounts, accountId)) return sendMissing(reply, 'ACCOUNT_NOT_FOUND');
  const idempotencyKey = readIdempotencyKey(request.headers['idempotency-key']);
  if (idempotencyKey === undefined) return sendKeyMissing(reply);
  const ifMatch =
    asked.request.kind === 'place' ? ({ kind: 'none' } as const) : readIfMatch(request.headers['if-match']);
  if (ifMatch.kind === 'unreadable')
    return sendProblem(
      reply,
      400,
      'INVALID_IF_MATCH',
      'If-Match has to be one strong ETag of the order, like "12", or *',
    );
  const waitSeconds = preferredWaitSeconds(request.headers['prefer']);
  const result = await commands.submit({
    ...asked,
    principal: principal.name,
    ...(principal.tokenNumber !== undefined && { tokenNumber: principal.tokenNumber }),
    idempotencyKey,
    requestId: request.id,
    ...(ifMatch.kind === 'revision' ? { ifRevision: ifMatch.revision } : {}),
    ...(waitSeconds === undefined ? {} : { waitMs: waitSeconds * 1000 }),
    ...(span !== undefined && { span: span.context }),
  });
  if (result.kind === 'declined') {
    const given = await forwarding.answer({ request, reply, traceparent: span?.traceparent }, result.code, accountId);
    if (given !== undefined) return sendFromElsewhere(reply, given);
  }
  setAllowance(reply, commands.placeBudget.allowance(accountId));
  if (result.kind === 'declined') return sendDecline(reply, result);
  if (waitSeconds !== undefined) reply.header('preference-applied', `wait=${waitSeconds}`);
  if (result.replayed) reply.header('idempotent-replayed', 'true');
  // The quick answer needs no second read from the database. A caller that waited, or sent its key
  // again, gets the evidence too.
  if (waitSeconds === undefined && !result.replayed) return sendCommandState(reply, result.command);
  const found = await reads.findCommand(principal.accounts, result.command.commandId).catch(() => undefined);
  const { command } = result;
  const same = found?.command.version === command.version;
  return sendCommandState(reply, command, same ? commandAnswer(found.command, found.evidence) : commandAnswer(command));
}

export function sendCommandState(
  reply: FastifyReply,
  command: Command,
  body: object = commandAnswer(command),
): FastifyReply {
  reply.header('location', commandPath(command.commandId));
  if (!isUnresolved(command.state)) return sendJson(reply, 200, body);
  return sendJson(reply.header('retry-after', String(retryAfterSeconds)), 202, body);
}

/** 1 to 128 visible ASCII characters, or undefined. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\x21-\x7e]{1,128}$/.test(header) ? header : undefined;
}

export function sendKeyMissing(reply: FastifyReply): FastifyReply {
  return sendProblem(
    reply,
    400,
    'IDEMPOTENCY_KEY_REQUIRED',
    'a command needs an Idempotency-Key of 1 to 128 visible ASCII characters: with it the same request can be repeated after any failure',
  );
}

export interface Decline {
  readonly code: DeclineCode | keyof typeof operatorDeclines;
  readonly message: string;
  readonly retryAfterMs?: number;
  readonly breach?: LimitBreach;
}

const operatorDeclines = {
  COMMAND_NOT_FOUND: 404,
  ALREADY_SETTLED: 409,
  EVERY_ACCOUNT_NEEDED: 403,
  APPROVAL_NOT_FOUND: 404,
  SECOND_PRINCIPAL_NEEDED: 403,
  TOO_MANY_APPROVALS: 429,
} as const;

/**
 * Answers why nothing was journaled. "Not found" has our own text, also for things that do not
 * belong to the caller.
 */
export function sendDecline(reply: FastifyReply, { code, message, retryAfterMs, breach }: Decline): FastifyReply {
  if (isMissingCode(code)) return sendMissing(reply, code);
  const status = { ...declineCodes, ...operatorDeclines }[code];
  if (retryAfterMs !== undefined) reply.header('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  else if (status === 503 || status === 429) reply.header('retry-after', String(retryAfterSeconds));
  if (breach === undefined) return sendProblem(reply, status, code, message);
  const { limit, value, bound } = breach;
  return sendProblemWith(reply, status, code, message, {
    breach: { limit, ...(value !== undefined && { value }), bound },
  });
}

/** The answer from the account's process, or the decline if none can be asked. */
export async function sendOfHolder(
  forwarding: Forwarding,
  call: Parameters<Forwarding['answer']>[0],
  decline: Decline,
  accountId: string | undefined,
): Promise<FastifyReply> {
  const given = await forwarding.answer(call, decline.code, accountId);
  return given === undefined ? sendDecline(call.reply, decline) : sendFromElsewhere(call.reply, given);
}

/** One cancel in a cancel-all: its command, or why there is none. */
export function submitResultBody(result: SubmitResult | undefined): object {
  if (result === undefined)
    return { code: 'UNDER_WAY', detail: 'its cancel has no answer yet: ask again with the same key' };
  if (result.kind === 'declined') return { code: result.code, detail: result.message };
  const { commandId, outcome, state, attempts, links } = commandAnswer(result.command);
  return { commandId, outcome, state, attempts, links };
}

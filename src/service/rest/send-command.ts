import type { FastifyReply } from 'fastify';
import type { Placed, PlacedSecurities } from '../../contract/command-bodies.ts';
import type { Replaced } from '../../contract/replace-bodies.ts';
import { type Command, type CommandRequest, isUnresolved, type PredictionPlaceTerms } from '../../domain/command.ts';
import type { TracedSpan } from '../../observability/tracing.ts';
import type { Answer } from '../commands/answer.ts';
import type { Journaled, Submission } from '../commands/commands.ts';
import { maySee } from './auth/principal.ts';
import { commandAnswer, commandPath, doubtAnswer } from './command-answer.ts';
import { preferredWaitSeconds, readIfMatch, setAllowance } from './request-headers.ts';
import type { Call, RouteParts } from './route.ts';
import { sendJson, sendProblem } from './send-answer.ts';
import { sendNotDone } from './send-not-done.ts';

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
 * The common last part of place, replace and cancel. It reads the command headers, checks the
 * account against the token, calls `Commands.submit` and sends the answer, or the answer from the
 * account's holder. 200 when the command is not open any more, 202 with its address while it is.
 * 4xx and 5xx mean that nothing was journaled, but for FORWARD_UNANSWERED.
 */
async function sendUntraced(
  parts: RouteParts,
  call: Call<unknown> & { readonly span?: TracedSpan },
  asked: Asked,
): Promise<FastifyReply> {
  const { commands, reads, forwarding } = parts;
  const { request, reply, principal, span } = call;
  const { accountId } = asked.request;
  if (!maySee(principal.accounts, accountId)) return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
  const [wrong] = request.headerFaults ?? [];
  if (wrong !== undefined) return sendProblem(reply, wrong.code);
  const ifRevision = asked.request.kind === 'place' ? undefined : readIfMatch(request.headers['if-match']);
  const waitSeconds = preferredWaitSeconds(request.headers['prefer']);
  const submission = {
    ...asked,
    principal: principal.name,
    ...(principal.tokenNumber !== undefined && { tokenNumber: principal.tokenNumber }),
    idempotencyKey: String(request.headers['idempotency-key']),
    requestId: request.id,
    ...(typeof ifRevision === 'number' && { ifRevision }),
    ...(waitSeconds !== undefined && { waitMs: waitSeconds * 1000 }),
    ...(span !== undefined && { span: span.context }),
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
  if (!isUnresolved(command.state)) return sendJson(reply, 200, body);
  return sendJson(reply.header('retry-after', '1'), 202, body);
}

/** One cancel in a cancel-all: its command, or why there is none. */
export function submitResultBody(answer: Answer<Journaled> | undefined): object {
  if (answer === undefined)
    return { code: 'UNDER_WAY', detail: 'its cancel has no answer yet: ask again with the same key' };
  if (answer.kind === 'declined') return { code: answer.code, detail: answer.message };
  const { commandId, result, state, attempts, links } = commandAnswer(answer.command);
  return { commandId, result, state, attempts, links };
}

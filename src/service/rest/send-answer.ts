import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { UnreadableRowError } from '../../store/rows.ts';
import { type Besides, problem, problemType } from './problem.ts';
import { type Fault, type ProblemCode, problemText, statusOf } from './problem-codes.ts';

const jsonType = 'application/json; charset=utf-8';

/**
 * Sends text, or its bytes, that is JSON already: nothing is parsed or encoded again. 200, unless
 * `reply` has another status.
 */
export function sendJsonText(reply: FastifyReply, text: string | Buffer): FastifyReply {
  return reply.header('content-type', jsonType).send(text);
}

export function sendJson(reply: FastifyReply, body: unknown): FastifyReply {
  return sendJsonText(reply, JSON.stringify(body));
}

/**
 * With its code's sentence, if it has none of its own. So what does not exist and what belongs to
 * another have the same body: a caller that may not see it learns nothing. The faults of headers
 * stand beside those of body or parameters. A caller that should try again gets the time to wait
 * (RFC 9110 10.2.3), one second unless it is set: most unknown commands are resolved by then.
 */
export function sendProblem(reply: FastifyReply, code: ProblemCode, detail?: string, besides?: Besides): FastifyReply {
  const { id, headerFaults = [] } = reply.request;
  const faults = [
    ...headerFaults.map((wrong) => ({ path: wrong.path, message: problemText(wrong.code) })),
    ...(besides?.faults ?? []),
  ];
  const isRefused = statusOf(code) === 400 && faults.length > 0;
  const body = problem(code, id, detail, { ...besides, ...(isRefused && { faults }) });
  reply.server.deniedWrites?.note(reply.request, body.status, code);
  if (body.retryable && !reply.hasHeader('retry-after')) reply.header('retry-after', '1');
  return reply.code(body.status).header('content-type', problemType).send(JSON.stringify(body));
}

/** For a path or a method without a route. The path is not repeated: it is the caller's text. */
export function answerUnknownPath(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendProblem(reply, 'NOT_FOUND', 'there is nothing at this path for this method');
}

/** For an error while answering. A fault of our own is logged, and answered without its message. */
export function answerProblem(log: Logger, error: unknown, reply: FastifyReply): FastifyReply {
  const code = codeOf(error);
  const requestId = reply.request.id;
  if (statusOf(code) === 500) log.error({ err: error, requestId }, 'a request failed');
  if (error instanceof StoreUnavailableError) log.warn({ err: error.cause, requestId }, 'a read failed');
  return sendProblem(reply, code);
}

/** The database can't be reached, or did not answer in time: `cause` says which. */
class StoreUnavailableError extends Error {}

/**
 * Reads from the port `OrderReads`. If the database did not answer, the answer is 503: callers can
 * then distinguish it from our own faults. A row that can't be read is no reason to ask again.
 */
export function readStore<T>(read: Promise<T>): Promise<T> {
  return read.catch((error: unknown) => {
    if (error instanceof UnreadableRowError) throw error;
    throw new StoreUnavailableError('the database did not answer', { cause: error });
  });
}

/** The code for an error while answering. */
function codeOf(error: unknown): ProblemCode {
  if (error instanceof UnreadableRowError) return 'UNREADABLE_ROW';
  if (error instanceof StoreUnavailableError) return 'STORE_UNAVAILABLE';
  if (!(error instanceof Error)) return 'INTERNAL';
  if ('code' in error && (error.code === 'DEADLINE' || error.code === 'STORE_UNAVAILABLE')) return 'TOO_SLOW';
  return ('statusCode' in error && codesOfFramework[Number(error.statusCode)]) || 'INTERNAL';
}

const codesOfFramework: Readonly<Record<number, ProblemCode>> = {
  400: 'BAD_REQUEST',
  413: 'TOO_LARGE',
  414: 'URL_TOO_LONG',
  415: 'MEDIA_TYPE',
  503: 'TOO_SLOW',
};

/**
 * Answers a body without the route's shape. An unknown field is reported with the platform's own
 * code for it (specification, "Errors").
 */
export function sendBodyFaults(
  reply: FastifyReply,
  { problems = [] }: { readonly problems?: readonly ProblemCode[] },
  faults: readonly Fault[],
): FastifyReply {
  const unknown = faults.every(({ message }) => message === 'is not a field of this body');
  const code = problems.includes('INVALID_ORDER') ? 'INVALID_ORDER' : 'INVALID_BODY';
  return sendProblem(reply, unknown ? 'UNKNOWN_FIELD' : code, undefined, { faults });
}

/** Counts an answered request, under its route's pattern: never under its path. */
export function observeRequest(metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.routeOptions.url ?? 'unknown';
  const code_class = `${Math.floor(reply.statusCode / 100)}xx`;
  metrics.process.httpSeconds.observe({ method: request.method, route, code_class }, reply.elapsedTime / 1000);
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../../observability/metrics.ts';
import { type Besides, problem, problemType } from './problem.ts';
import { type Fault, type ProblemCode, problemText, statusOf } from './problem-codes.ts';
import type { Route } from './route.ts';

const jsonType = 'application/json; charset=utf-8';

/** Sends text, or its bytes, that is JSON already: nothing is parsed or encoded again. */
export function sendJsonText(reply: FastifyReply, status: number, text: string | Buffer): FastifyReply {
  return reply.code(status).header('content-type', jsonType).send(text);
}

export function sendJson(reply: FastifyReply, status: number, body: unknown): FastifyReply {
  return sendJsonText(reply, status, JSON.stringify(body));
}

/**
 * With its code's sentence, if it has none of its own. So what does not exist and what belongs to
 * another have the same body: a caller that may not see it learns nothing. The faults of headers
 * stand beside those of body or parameters.
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
  return reply.code(body.status).header('content-type', problemType).send(JSON.stringify(body));
}

/**
 * Answers a body without the route's shape. An unknown field is reported with the platform's own
 * code for it (specification, "Errors").
 */
export function sendBodyFaults({ problems }: Route, reply: FastifyReply, faults: readonly Fault[]): FastifyReply {
  const unknown = faults.every(({ message }) => message === 'is not a field of this body');
  const code = problems?.includes('INVALID_ORDER') ? 'INVALID_ORDER' : 'INVALID_BODY';
  return sendProblem(reply, unknown ? 'UNKNOWN_FIELD' : code, undefined, { faults });
}

const codeClasses = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx'];

/** Counts an answered request, under its route's pattern: never under its path. */
export function observeRequest(metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.routeOptions.url ?? 'unknown';
  const code_class = codeClasses[Math.floor(reply.statusCode / 100)] ?? '5xx';
  metrics.process.httpSeconds.observe({ method: request.method, route, code_class }, reply.elapsedTime / 1000);
}

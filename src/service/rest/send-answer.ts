import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../../observability/metrics.ts';
import { type BrokenLimit, type Fault, problem, problemType } from './problem.ts';

const jsonType = 'application/json; charset=utf-8';

/** Sends text, or its bytes, that is JSON already: nothing is parsed or encoded again. */
export function sendJsonText(reply: FastifyReply, status: number, text: string | Buffer): FastifyReply {
  return reply.code(status).header('content-type', jsonType).send(text);
}

export function sendJson(reply: FastifyReply, status: number, body: unknown): FastifyReply {
  return sendJsonText(reply, status, JSON.stringify(body));
}

export function sendProblem(
  reply: FastifyReply,
  status: number,
  code: string,
  detail: string,
  faults?: readonly Fault[],
): FastifyReply {
  return sendProblemWith(reply, status, code, detail, faults === undefined ? {} : { faults });
}

export function sendProblemWith(
  reply: FastifyReply,
  status: number,
  code: string,
  detail: string,
  besides: { readonly faults?: readonly Fault[]; readonly breach?: BrokenLimit },
): FastifyReply {
  reply.server.deniedWrites?.note(reply.request, status, code);
  const body = JSON.stringify(problem(status, code, detail, reply.request.id, besides));
  return reply.code(status).header('content-type', problemType).send(body);
}

/**
 * The same body whether it does not exist or belongs to another: a caller that may not see it
 * learns nothing.
 */
const missing = {
  ORDER_NOT_FOUND: 'there is no such order',
  ACCOUNT_NOT_FOUND: 'there is no such account',
  COMMAND_NOT_FOUND: 'there is no such command',
  APPROVAL_NOT_FOUND: 'there is no such request, or it has been approved or has expired',
  ROW_NOT_FOUND: 'there is no such row in quarantine',
  JOB_NOT_FOUND: 'there is no such job',
  SHARD_NOT_FOUND: 'there is no shard of this number: GET /v1/fleet says how many there are',
  INSTANCE_NOT_FOUND: 'no live process has this name: GET /v1/fleet names those that live',
  NOT_FOUND: 'there is nothing at this path',
} as const;
type MissingCode = keyof typeof missing;

export function isMissingCode(code: string): code is MissingCode {
  return Object.hasOwn(missing, code);
}

export function sendMissing(reply: FastifyReply, code: MissingCode): FastifyReply {
  return sendProblem(reply, 404, code, missing[code]);
}

/**
 * Answers a body without the route's shape. An unknown field is reported with the platform's own
 * code for it (specification, "Errors").
 */
export function sendBodyFaults(
  reply: FastifyReply,
  code: 'INVALID_ORDER' | 'INVALID_BODY',
  faults: readonly Fault[],
): FastifyReply {
  const unknown = faults.every(({ message }) => message === 'is not a field of this body');
  const detail = 'the body is not what this route takes: see faults';
  return sendProblem(reply, 400, unknown ? 'UNKNOWN_FIELD' : code, detail, faults);
}

const codeClasses = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx'];

/** Counts an answered request, under its route's pattern: never under its path. */
export function observeRequest(metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.routeOptions.url ?? 'unknown';
  const code_class = codeClasses[Math.floor(reply.statusCode / 100)] ?? '5xx';
  metrics.process.httpSeconds.observe({ method: request.method, route, code_class }, reply.elapsedTime / 1000);
}

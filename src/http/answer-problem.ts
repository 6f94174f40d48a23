import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../observability/log.ts';
import { problem, problemType } from './problem.ts';
import { StoreUnavailableError } from './read-store.ts';

/** For a path or a method that has no route. The path is not repeated: it is the caller's text. */
export function answerUnknownPath(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const body = problem(404, 'NOT_FOUND', 'there is nothing at this path for this method', request.id);
  return reply.code(404).type(problemType).send(JSON.stringify(body));
}

/** For an error that came up while answering. What is our own fault is logged and told without its message. */
export function answerProblem(log: Log, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const status = statusOf(error);
  if (status === 500) log.error({ err: error, requestId: request.id }, 'a request failed');
  if (error instanceof StoreUnavailableError) log.warn({ err: error.cause, requestId: request.id }, 'a read failed');
  const [code, detail] = tellingOf(error, status);
  // Who is told to come back is told when (RFC 9110 10.2.3).
  if (status === 503) reply.header('retry-after', '1');
  return reply
    .code(status)
    .type(problemType)
    .send(JSON.stringify(problem(status, code, detail, request.id)));
}

function tellingOf(error: unknown, status: number): Telling {
  return error instanceof StoreUnavailableError ? unavailable : (tellings[status] ?? internal);
}

type Telling = readonly [code: string, detail: string];

const internal: Telling = ['INTERNAL', 'something went wrong here; the log has the reason under this requestId'];
const unavailable: Telling = ['STORE_UNAVAILABLE', 'the database does not answer; try again'];
const tellings: Readonly<Record<number, Telling>> = {
  400: ['BAD_REQUEST', 'the request could not be understood'],
  413: ['TOO_LARGE', 'the request has a larger body than is read here'],
  414: ['URL_TOO_LONG', 'the URL, or a part of it, is longer than is read here'],
  415: ['MEDIA_TYPE', 'the request has a body of a type that is not read here'],
  503: ['TOO_SLOW', 'the answer took too long; try again'],
};

function statusOf(error: unknown): number {
  if (!(error instanceof Error)) return 500;
  if ('code' in error && (error.code === 'DEADLINE' || error.code === 'STORE_UNAVAILABLE')) return 503;
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  return status in tellings ? status : 500;
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../observability/log.ts';
import { problem, problemType } from './problem.ts';

/** For a path or a method that has no route. The path is not repeated: it is the caller's text. */
export function answerUnknownPath(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const body = problem(404, 'NOT_FOUND', 'there is nothing at this path for this method', request.id);
  return reply.code(404).type(problemType).send(JSON.stringify(body));
}

/** For an error that came up while answering. What is our own fault is logged and told without its message. */
export function answerProblem(log: Log, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const status = statusOf(error);
  if (status === 500) log.error({ err: error, requestId: request.id }, 'a request failed');
  const [code, detail] = tellings[status] ?? [
    'INTERNAL',
    'something went wrong here; the log has the reason under this requestId',
  ];
  return reply
    .code(status)
    .type(problemType)
    .send(JSON.stringify(problem(status, code, detail, request.id)));
}

const tellings: Readonly<Record<number, readonly [code: string, detail: string]>> = {
  400: ['BAD_REQUEST', 'the request could not be understood'],
  413: ['TOO_LARGE', 'the request has a larger body than is read here'],
  415: ['MEDIA_TYPE', 'the request has a body of a type that is not read here'],
  503: ['TOO_SLOW', 'the answer took too long; try again'],
};

function statusOf(error: unknown): number {
  if (!(error instanceof Error)) return 500;
  if ('code' in error && error.code === 'DEADLINE') return 503;
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  return status in tellings ? status : 500;
}

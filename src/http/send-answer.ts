import type { FastifyReply } from 'fastify';
import { type BrokenLimit, type Fault, problem, problemType } from './problem.ts';

const jsonType = 'application/json; charset=utf-8';

/** Text that is JSON already: nothing is parsed or encoded again on the way out. */
export function sendJsonText(reply: FastifyReply, status: number, text: string): FastifyReply {
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

/** The same body whether it does not exist or belongs to somebody else: who may not see it learns nothing. */
const missing = {
  ORDER_NOT_FOUND: 'there is no such order',
  ACCOUNT_NOT_FOUND: 'there is no such account',
  COMMAND_NOT_FOUND: 'there is no such command',
  APPROVAL_NOT_FOUND: 'there is no such request, or it has been approved or has expired',
  NOT_FOUND: 'there is nothing at this path',
} as const;
export type MissingCode = keyof typeof missing;

export function isMissingCode(code: string): code is MissingCode {
  return Object.hasOwn(missing, code);
}

export function sendMissing(reply: FastifyReply, code: MissingCode): FastifyReply {
  return sendProblem(reply, 404, code, missing[code]);
}

import type { FastifyReply } from 'fastify';
import type { Fault } from './problem.ts';
import { sendProblem } from './send-answer.ts';

/** A body that is not of the route's shape. A field that no version of ours knows is told by the platform's own code for it (specification, "Errors"). */
export function sendBodyFaults(
  reply: FastifyReply,
  code: 'INVALID_ORDER' | 'INVALID_BODY',
  faults: readonly Fault[],
): FastifyReply {
  const unknown = faults.every(({ message }) => message === 'is not a field of this body');
  const detail = 'the body is not what this route takes: see faults';
  return sendProblem(reply, 400, unknown ? 'UNKNOWN_FIELD' : code, detail, faults);
}

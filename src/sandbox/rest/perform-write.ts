import type { FastifyReply, FastifyRequest } from 'fastify';
import { isRefusal, type Refusal, type Write } from '../entry/write.ts';
import type { ExchangeOrder } from '../exchange/exchange-order.ts';
import { jsonText } from '../exchange/wire-text.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendFlat, sendNested, sendPredictionError } from './error-bodies.ts';
import { answerFaulted } from './write-faults.ts';

/**
 * Does a write and answers it, or lets it meet a fault. One `decision` line of the ledger says how order entry judged the request: `accepted` as which order, `refused`
 * with which code, `not_applied` because of a fault, or `deferred`, which is followed by a second line once it has arrived: `accepted` or `lapsed`, with
 * `late`. So the acceptances of a reference can be counted.
 */
export function performWrite(
  parts: SandboxParts,
  request: FastifyRequest,
  reply: FastifyReply,
  write: Write | Refusal,
): FastifyReply {
  if (write.refused) {
    decide(parts, request, undefined, 'refused', `,"status":${write.status},"code":${jsonText(write.code)}`);
    return sendRefusal(reply, write);
  }
  const { kind, stream, accountId, reference } = write;
  const place = { method: request.method, write: kind, stream, accountId, ...(reference === undefined ? {} : { reference }) };
  const met = parts.faults.forWrite(place);
  if (met === undefined) return answer(reply, write, attempt(parts, request, write, ''));
  request.fault = met.fault;
  const fault = `,"fault":"${met.fault}"`;
  if (met.applied === 'yes') return answerFaulted(parts, request, reply, write, met, attempt(parts, request, write, fault));
  if (met.applied === 'no') decide(parts, request, write, 'not_applied', fault);
  else {
    decide(parts, request, write, 'deferred', `${fault},"delayMs":${met.delayMs}`);
    parts.entry.lateWrites.add(met.delayMs, () => attempt(parts, request, write, `${fault},"late":true`));
  }
  return answerFaulted(parts, request, reply, write, met, undefined);
}

/** A request that was turned away before it was understood: no token, no scope, a foreign account. The answer has been sent already. */
export function noteTurnedAway(parts: SandboxParts, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  decide(parts, request, undefined, 'refused', `,"status":${reply.statusCode}`);
  return reply;
}

function attempt(parts: SandboxParts, request: FastifyRequest, write: Write, more: string): ExchangeOrder | Refusal {
  const result = parts.entry.during(() => write.attempt());
  if (!isRefusal(result)) {
    const rejected = result.state === 'rejected' ? ',"rejected":true' : '';
    decide(parts, request, write, 'accepted', `,"orderId":"${result.terms.orderId}"${rejected}${more}`);
    return result;
  }
  const late = more.includes('"late"');
  decide(parts, request, write, late ? 'lapsed' : 'refused', `,"status":${result.status},"code":${jsonText(result.code)}${more}`);
  return result;
}

function answer(reply: FastifyReply, write: Write, result: ExchangeOrder | Refusal): FastifyReply {
  if (isRefusal(result)) return sendRefusal(reply, result);
  return reply.code(write.answer.status).type('application/json').send(write.answer.body(result));
}

function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { status, code, message, shape } = refusal;
  // Only prediction refusals are made with the prediction shape, and only from its table of codes.
  if (shape === 'prediction') return sendPredictionError(reply, code as Parameters<typeof sendPredictionError>[1], message);
  if (shape === 'flat') return sendFlat(reply, status, message, [code]);
  return sendNested(reply, status, status === 404 ? 'not_found' : 'conflict', code, message);
}

function decide(parts: SandboxParts, request: FastifyRequest, write: Write | undefined, decision: string, more: string): void {
  const about = write === undefined ? '' : describe(write);
  parts.ledger.enter('decision', `,"request":${request.ledgerSeq},"decision":"${decision}"${about}${more}`);
}

function describe({ kind, stream, accountId, reference, by }: Write): string {
  let text = `,"write":"${kind}","stream":"${stream}","accountId":${jsonText(accountId)}`;
  if (reference !== undefined) text += `,"reference":${jsonText(reference)}`;
  if (by !== undefined) text += `,"by":${jsonText(by)}`;
  return text;
}

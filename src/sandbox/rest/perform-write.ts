import type { FastifyReply, FastifyRequest } from 'fastify';
import { type PredictionErrorCode, predictionErrors } from '../../venue/platform/wire/error-bodies.ts';
import { isRefusal, noCapacity, noSession, type Refusal, type Write } from '../entry/write.ts';
import type { ExchangeOrder } from '../exchange/exchange-order.ts';
import type { MetWriteFault } from '../faults/fault-plan.ts';
import type { WriteFault } from '../faults/fault-shapes.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendFlat, sendNested, sendPredictionError } from './error-bodies.ts';
import { faultedAnswers } from './request-faults.ts';
import { enterFaultedAnswer } from './request-record.ts';

/**
 * Does a write and answers it, or lets it meet a fault. One `decision` line in the ledger says how
 * order entry judged the request: `accepted` as which order, `refused` with which code,
 * `not_applied` because of a fault, or `deferred`. A second line follows `deferred` once the write
 * has arrived: `accepted` or `lapsed`, with `late`. So a reference's acceptances can be counted.
 */
export function performWrite(
  parts: SandboxParts,
  request: FastifyRequest,
  reply: FastifyReply,
  write: Write | Refusal,
): FastifyReply {
  if ('refused' in write) {
    decide(parts, request, undefined, 'refused', { status: write.status, code: write.code });
    return sendRefusal(reply, write);
  }
  const { kind, stream, reference } = write;
  const accountId = write.account.id;
  const met = parts.faults.forWrite({ method: request.method, write: kind, stream, accountId, reference });
  if (met === undefined) {
    const result = attemptWrite(parts, request, write);
    return isRefusal(result) ? sendRefusal(reply, result) : sendSuccess(reply, write, result);
  }
  const { fault, delayMs } = met;
  request.fault = fault;
  const result = met.applied === 'yes' ? attemptWrite(parts, request, write, { fault }) : undefined;
  if (met.applied === 'no') decide(parts, request, write, 'not_applied', { fault });
  if (met.applied === 'late') {
    decide(parts, request, write, 'deferred', { fault, delayMs });
    parts.entry.lateWrites.add(delayMs, () => attemptWrite(parts, request, write, { fault, late: true }));
  }
  return faultedWrites[fault]({ parts, request, reply, write, met, result });
}

/**
 * A request turned away before it was understood: no token, no scope, a foreign account. The answer
 * has been sent already.
 */
export function noteTurnedAway(parts: SandboxParts, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  decide(parts, request, undefined, 'refused', { status: reply.statusCode });
  return reply;
}

/** Does a write now; `more` belongs to its line in the ledger. */
export function attemptWrite(
  parts: SandboxParts,
  request: FastifyRequest,
  write: Write,
  more: { readonly fault?: WriteFault; readonly late?: true } = {},
): ExchangeOrder | Refusal {
  const result = parts.entry.during(() => write.attempt());
  if (isRefusal(result)) {
    const { status, code } = result;
    decide(parts, request, write, more.late ? 'lapsed' : 'refused', { status, code, ...more });
  } else {
    const rejected = result.state === 'rejected' || undefined;
    decide(parts, request, write, 'accepted', { orderId: result.terms.orderId, rejected, ...more });
  }
  return result;
}

function sendSuccess(reply: FastifyReply, { answer }: Write, order: ExchangeOrder): FastifyReply {
  return reply.code(answer.status).type('application/json').send(answer.body(order));
}

function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { status, code, message, shape } = refusal;
  // Only prediction refusals are made with the prediction shape, and only from its table of codes.
  if (shape === 'prediction') return sendPredictionError(reply, code as PredictionErrorCode, message);
  if (shape === 'alpaca') return reply.code(status).send({ code: Number(code), message });
  if (shape === 'flat') return sendFlat(reply, status, message, [code]);
  return sendNested(reply, status, status === 404 ? 'not_found' : 'conflict', code, message);
}

function decide(
  parts: SandboxParts,
  request: FastifyRequest,
  write: Write | undefined,
  decision: string,
  more: object,
): void {
  const { kind, stream, account, reference, by } = write ?? {};
  const about = { write: kind, stream, accountId: account?.id, reference, by };
  parts.ledger.enter('decision', { request: request.ledgerSeq, decision, ...about, ...more });
}

interface Met {
  readonly parts: SandboxParts;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly write: Write;
  readonly met: MetWriteFault;
  /** The result, when it was done before the answer. */
  readonly result: ExchangeOrder | Refusal | undefined;
}

const usualAnswer =
  (fault: Extract<WriteFault, keyof typeof faultedAnswers>) =>
  ({ parts, request, reply }: Met) =>
    faultedAnswers[fault](request, reply, parts);

/** The documented body, in the envelope for a prediction order. */
const documentedAnswer =
  (code: PredictionErrorCode, message: string) =>
  ({ reply, write }: Met) => {
    const { status, type } = predictionErrors[code];
    return write.stream === 'prediction'
      ? sendPredictionError(reply, code, message)
      : sendNested(reply, status, type, code, message);
  };

/** The answers to a write that meets a fault. */
const faultedWrites: Readonly<Record<WriteFault, (met: Met) => FastifyReply>> = {
  outcome_unknown: documentedAnswer(
    'REQUEST_OUTCOME_UNKNOWN',
    'The request may have reached the venue; check the order before sending again',
  ),
  status_504: ({ reply }) => reply.code(504).send(),
  at_capacity: documentedAnswer('ORDER_ENTRY_AT_CAPACITY', noCapacity),
  unavailable: documentedAnswer('ORDER_ENTRY_UNAVAILABLE', noSession),
  status_429: usualAnswer('status_429'),
  status_503: usualAnswer('status_503'),
  status_500: usualAnswer('status_500'),
  status_401: usualAnswer('status_401'),
  html: usualAnswer('html'),
  redirect: usualAnswer('redirect'),
  hang: usualAnswer('hang'),
  reset: usualAnswer('reset'),
  torn,
  wrong_order: ({ parts, reply, write, result }) => {
    const other = anotherOrder(parts, write, result);
    return other === undefined ? reply.code(500).send() : sendSuccess(reply, write, other);
  },
};

/** Promises the whole answer and ends the connection after its first `at` bytes. */
function torn({ parts, request, reply, write, met, result }: Met): FastifyReply {
  const done = result !== undefined && !isRefusal(result);
  const body = Buffer.from(done ? write.answer.body(result) : '{"success":false}');
  const status = done ? write.answer.status : 400;
  const head = `HTTP/1.1 ${status} ${status === 202 ? 'Accepted' : 'OK'}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const whole = Buffer.concat([Buffer.from(head), body]);
  reply.hijack();
  // Never the whole: then nothing would be torn.
  request.raw.socket.end(whole.subarray(0, Math.min(met.at ?? head.length + (body.length >> 1), whole.length - 1)));
  enterFaultedAnswer(parts.ledger, request, 'torn');
  return reply;
}

/** The account's last order that another caller's request could have named. */
function anotherOrder(
  parts: SandboxParts,
  write: Write,
  result: ExchangeOrder | Refusal | undefined,
): ExchangeOrder | undefined {
  return parts.exchange.ordersOf(write.account, write.stream).findLast((order) => order !== result);
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import { isRefusal, type Refusal, type Write } from '../entry/write.ts';
import { present } from '../exchange/change-list.ts';
import type { ExchangeOrder } from '../exchange/exchange-order.ts';
import type { MetWriteFault } from '../faults/fault-plan.ts';
import type { WriteFault } from '../faults/fault-shapes.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendNested, sendPredictionError } from './error-bodies.ts';
import { faultedAnswers } from './request-faults.ts';
import { enterFaultedAnswer } from './request-record.ts';

interface Met {
  readonly parts: SandboxParts;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly write: Write;
  readonly met: MetWriteFault;
  /** The result, when it was done before the answer. */
  readonly result: ExchangeOrder | Refusal | undefined;
}

/** The answer of a write that meets a fault. */
export function answerFaulted(
  parts: SandboxParts,
  request: FastifyRequest,
  reply: FastifyReply,
  write: Write,
  met: MetWriteFault,
  result: ExchangeOrder | Refusal | undefined,
): FastifyReply {
  return answers[met.fault]({ parts, request, reply, write, met, result });
}

const usualAnswer =
  (fault: Extract<WriteFault, keyof typeof faultedAnswers>) =>
  ({ parts, request, reply }: Met) =>
    faultedAnswers[fault](request, reply, parts);

const answers: Readonly<Record<WriteFault, (met: Met) => FastifyReply>> = {
  outcome_unknown: ({ reply, write }) => {
    const message = 'The request may have reached the venue; check the order before sending again';
    if (write.stream === 'prediction') return sendPredictionError(reply, 'REQUEST_OUTCOME_UNKNOWN', message);
    return sendNested(reply, 504, 'timeout', 'REQUEST_OUTCOME_UNKNOWN', message);
  },
  status_504: ({ reply }) => reply.code(504).send(),
  at_capacity: ({ reply, write }) => {
    const message = 'Order entry is at capacity; nothing was sent';
    if (write.stream === 'prediction') return sendPredictionError(reply, 'ORDER_ENTRY_AT_CAPACITY', message);
    return sendNested(reply, 429, 'rate_limit', 'ORDER_ENTRY_AT_CAPACITY', message);
  },
  unavailable: ({ reply, write }) => {
    const message = 'The session with the venue is down; nothing was sent';
    if (write.stream === 'prediction') return sendPredictionError(reply, 'ORDER_ENTRY_UNAVAILABLE', message);
    return sendNested(reply, 503, 'unavailable', 'ORDER_ENTRY_UNAVAILABLE', message);
  },
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
    if (other === undefined) return reply.code(500).send();
    return reply.code(write.answer.status).type('application/json').send(write.answer.body(other));
  },
};

/** Promises the whole answer and ends the connection after `at` bytes of it. */
function torn({ parts, request, reply, write, met, result }: Met): FastifyReply {
  const done = result !== undefined && !isRefusal(result);
  const body = Buffer.from(done ? write.answer.body(result) : '{"success":false}');
  const status = done ? write.answer.status : 400;
  const head = `HTTP/1.1 ${status} ${status === 202 ? 'Accepted' : 'OK'}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const whole = Buffer.concat([Buffer.from(head), body]);
  reply.hijack();
  // Never the whole of it: then nothing would be torn.
  request.raw.socket.end(whole.subarray(0, Math.min(met.at ?? head.length + (body.length >> 1), whole.length - 1)));
  enterFaultedAnswer(parts.ledger, request, 'torn');
  return reply;
}

/** The last order of the account that somebody else's request could have been about. */
function anotherOrder(parts: SandboxParts, write: Write, result: ExchangeOrder | Refusal | undefined): ExchangeOrder | undefined {
  const account = parts.exchange.accounts.get(write.accountId);
  if (account === undefined) return undefined;
  let other: ExchangeOrder | undefined;
  parts.exchange.listOf(account, write.stream).visit(0, present, ({ order }) => {
    if (order !== result) other = order;
    return true;
  });
  return other;
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { jwksPath, metadataPath } from '../../venue/platform/wire/oauth.ts';
import type { RequestFault } from '../faults/fault-shapes.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendFlat, sendNested } from './error-bodies.ts';
import { enterFaultedAnswer } from './request-record.ts';

const alwaysHealthy = new Set(['/v1/health', jwksPath, metadataPath]);
const html = '<!doctype html><html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>';

/** Lets faults meet requests, after they were entered in the ledger and before their handlers. */
export function meetFaults(app: FastifyInstance, parts: SandboxParts): void {
  app.addHook('preHandler', async (request, reply) => {
    const path = request.url.split('?')[0] ?? '';
    const drawable = request.method === 'GET' && !alwaysHealthy.has(path);
    const fault = parts.faults.forRequest({ method: request.method, path }, drawable);
    if (fault === undefined) return;
    request.fault = fault;
    if (fault === 'lag') request.lagMs = parts.faults.lagMs;
    else if (fault === 'torn') return;
    else return faultedAnswers[fault](request, reply, parts);
  });
  app.addHook('onSend', async (_request, reply, payload) => {
    const isJson = String(reply.getHeader('content-type')).includes('application/json');
    return isJson && typeof payload === 'string' && payload !== '' ? parts.wire.worded(payload) : payload;
  });
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.fault === 'torn' && typeof payload === 'string') return tear(request, reply, payload, parts);
    return payload;
  });
}

/** The answer to a request that meets the fault. Nothing was done for it. */
export const faultedAnswers: Readonly<
  Record<
    Exclude<RequestFault, 'lag' | 'torn'>,
    (request: FastifyRequest, reply: FastifyReply, parts: SandboxParts) => FastifyReply
  >
> = {
  status_401: (_request, reply) => sendFlat(reply, 401, 'Session expired'),
  status_403: (_request, reply) => sendNested(reply, 403, 'forbidden', 'FORBIDDEN', 'Not permitted'),
  status_429: (_request, reply) =>
    sendNested(reply.header('retry-after', '1'), 429, 'rate_limit', 'RATE_LIMITED', 'Too many requests'),
  status_500: (_request, reply) => reply.code(500).send(),
  status_503: (_request, reply) => sendFlat(reply, 503, 'Upstream unavailable'),
  html: (_request, reply) => reply.code(502).header('content-type', 'text/html').send(html),
  redirect: (_request, reply) => reply.code(302).header('location', '/maintenance').send(),
  hang: (request, reply, parts) => {
    reply.hijack();
    parts.hanging.add(request.raw.socket);
    enterFaultedAnswer(parts.ledger, request, 'hang');
    return reply;
  },
  reset: (request, reply, parts) => {
    reply.hijack();
    enterFaultedAnswer(parts.ledger, request, 'reset');
    request.raw.socket.resetAndDestroy();
    return reply;
  },
};

/** Promises the whole body, sends half and ends the connection. */
function tear(request: FastifyRequest, reply: FastifyReply, payload: string, parts: SandboxParts): never {
  const body = Buffer.from(payload);
  reply.hijack();
  const head = `HTTP/1.1 ${reply.statusCode} OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  request.raw.socket.end(Buffer.concat([Buffer.from(head), body.subarray(0, body.length >> 1)]));
  enterFaultedAnswer(parts.ledger, request, 'torn');
  throw new Error('torn');
}

import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Ledger, maskSecrets } from '../ledger/ledger.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Its line's number in the ledger; 0 until it was entered. */
    ledgerSeq: number;
    /** The age of the state in its answer. */
    lagMs: number;
    /** Its fault, for the ledger. */
    fault: string | undefined;
    /** The id of a token of ours that is not good any more, for the ledger. */
    refusedToken: string | undefined;
  }
}

/**
 * Enters each request with its bytes when it has come in whole,
 * and each answer when it has gone out.
 */
export function recordRequests(app: FastifyInstance, ledger: Ledger, listener: string): void {
  app.decorateRequest('ledgerSeq', 0);
  app.decorateRequest('lagMs', 0);
  app.decorateRequest('fault', undefined);
  app.decorateRequest('refusedToken', undefined);
  app.addHook('preHandler', async (request) => {
    request.ledgerSeq = enterRequest(ledger, listener, request);
  });
  app.addHook('onResponse', async (request, reply) => {
    // Refused before its body was read: too large, say.
    if (request.ledgerSeq === 0) request.ledgerSeq = enterRequest(ledger, listener, request);
    enterAnswer(ledger, request, reply);
  });
}

/** An answer that never went out the usual way: the connection was cut, or there was no answer. */
export function enterFaultedAnswer(ledger: Ledger, request: FastifyRequest, fault: string): void {
  request.fault = fault;
  ledger.enter('answer', { request: request.ledgerSeq, status: null, fault });
}

function enterRequest(ledger: Ledger, listener: string, request: FastifyRequest): number {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  return ledger.enter('request', {
    listener,
    method: request.method,
    url: request.originalUrl,
    contentType: request.headers['content-type'],
    bytes: body.length,
    ...(isUtf8(body) ? { body: maskSecrets(body.toString('utf8')) } : { bodyBase64: body.toString('base64') }),
  });
}

function enterAnswer(ledger: Ledger, request: FastifyRequest, reply: FastifyReply): void {
  const { fault, refusedToken } = request;
  const bytes = Number(reply.getHeader('content-length') ?? 0);
  ledger.enter('answer', { request: request.ledgerSeq, status: reply.statusCode, bytes, fault, refusedToken });
}

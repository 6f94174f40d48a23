import type { FastifyReply } from 'fastify';
import { type PredictionErrorCode, predictionErrors } from '../../venue/platform/wire/error-bodies.ts';

/**
 * The three shapes of an error body, as the real service's routes mix them (specification, "General
 * error bodies"). Each route's shape is our choice: accounts, users, tokens, chart quotes, previous
 * day and ownership flat; orders, search, options quotes and themes nested; prediction orders their
 * envelope; an FDA calendar without events and a 500 without a body.
 */
export function sendFlat(
  reply: FastifyReply,
  status: number,
  message: string,
  codes: readonly string[] = [],
  more: { readonly metadata?: object } = {},
): FastifyReply {
  const body =
    codes.length === 0
      ? { error: message }
      : { error: message, codes: codes.map((code) => ({ code, description: message })) };
  return reply.code(status).send({ ...body, ...more });
}

export function sendNested(
  reply: FastifyReply,
  status: number,
  type: string,
  code: string,
  message: string,
  meta?: object,
): FastifyReply {
  return reply.code(status).send({ error: { type, code, message, ...(meta === undefined ? {} : { meta }) } });
}

/** Specification, "Prediction order errors". */
export function sendPredictionError(reply: FastifyReply, code: PredictionErrorCode, message: string): FastifyReply {
  const { status, type } = predictionErrors[code];
  return reply.code(status).send({ success: false, error: { code, message, type } });
}

/**
 * A route's shapes for a refused request. `prediction` is the nested one, without a code in 401
 * (specification, "Prediction order errors": none).
 */
export type TurningAway = 'flat' | 'nested' | 'prediction';

export function unauthorized(reply: FastifyReply, shape: TurningAway): FastifyReply {
  reply.header('www-authenticate', 'Bearer error="invalid_token"');
  const message = 'The access token is missing, expired or revoked';
  if (shape === 'prediction') return reply.code(401).send({ error: { type: 'authentication', message } });
  return shape === 'flat'
    ? sendFlat(reply, 401, message)
    : sendNested(reply, 401, 'authentication', 'UNAUTHENTICATED', message);
}

export function forbidden(reply: FastifyReply, shape: TurningAway, message: string): FastifyReply {
  return shape === 'flat'
    ? sendFlat(reply, 403, message, ['FORBIDDEN'])
    : sendNested(reply, 403, 'forbidden', 'FORBIDDEN', message);
}

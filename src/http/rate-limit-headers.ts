import type { FastifyReply } from 'fastify';
import type { Allowance } from '../commands/commands.ts';

/** `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers): what the account of this request may still send, and when all of it is back. */
export function setAllowance(reply: FastifyReply, { limit, remaining, resetMs }: Allowance): void {
  reply.header('ratelimit-policy', `"account";q=${Math.floor(limit)}`);
  reply.header('ratelimit', `"account";r=${Math.max(0, Math.floor(remaining))};t=${Math.max(0, Math.ceil(resetMs / 1000))}`);
}

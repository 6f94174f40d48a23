import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccessTokens } from '../auth/access-tokens.ts';
import type { Directory, Principal } from '../auth/directory.ts';
import type { ExchangeAccount } from '../exchange/exchange-order.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { forbidden, type TurningAway, unauthorized } from './error-bodies.ts';

const bearer = /^Bearer ([A-Za-z0-9._~+/=-]+)$/i;

/** The token in an `Authorization` header, undefined when there is none. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : bearer.exec(header)?.[1];
}

/**
 * The caller, when its token is good and carries `scope`; else the refusal has been sent and the
 * handler has nothing left to do.
 */
export async function requireScope(
  tokens: AccessTokens,
  request: FastifyRequest,
  reply: FastifyReply,
  scope: string,
  shape: TurningAway,
): Promise<Principal | undefined> {
  const token = bearerToken(request.headers.authorization);
  const principal = token === undefined ? undefined : await tokens.check(token);
  if (principal === undefined) {
    request.refusedToken = token === undefined ? undefined : tokens.idOf(token);
    unauthorized(reply, shape);
    return undefined;
  }
  if (!principal.scopes.has(scope)) {
    forbidden(reply, shape, `The token lacks the scope ${scope}`);
    return undefined;
  }
  return principal;
}

/** A route for callers whose token carries `scope`. */
export function scoped(
  { tokens }: Pick<SandboxParts, 'tokens'>,
  scope: string,
  shape: TurningAway,
  answer: (request: FastifyRequest, reply: FastifyReply, principal: Principal) => unknown,
) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const principal = await requireScope(tokens, request, reply, scope, shape);
    return principal === undefined ? reply : answer(request, reply, principal);
  };
}

/**
 * The account, when the caller may see it; a foreign one and one that does not exist look the same
 * (docs/platform-assumptions.md, "Equity and option orders").
 */
export function requireAccount(
  directory: Directory,
  principal: Principal,
  accountId: string,
  reply: FastifyReply,
): ExchangeAccount | undefined {
  const result = directory.accountFor(principal, accountId);
  if (result.access === 'granted') return result.account;
  forbidden(reply, 'nested', 'This account is not yours');
  return undefined;
}

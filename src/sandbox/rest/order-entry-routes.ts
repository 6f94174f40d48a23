import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ordersPath } from '../../platform/wire/order-pages.ts';
import { cancelAccountOrder, placeAccountOrder } from '../entry/account-order-writes.ts';
import { type OrderRequestTerms, readOrderRequest } from '../entry/read-order-request.ts';
import { badOrder } from '../entry/refusals.ts';
import { MemberFault, readBody } from '../entry/request-members.ts';
import type { Refusal } from '../entry/write.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { noteTurnedAway, performWrite } from './perform-write.ts';
import { requireAccount, requireScope } from './require-scope.ts';

/** `POST /v1/orders` (specification) and `DELETE /v1/orders/{ordId}?accountId=` (docs/platform-assumptions.md): equities and options. */
export function orderEntryRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.post(ordersPath, (request, reply) => placeOrder(parts, request, reply));
  app.delete<{ Params: { ordId: string }; Querystring: Record<string, unknown> }>(
    `${ordersPath}/:ordId`,
    async (request, reply) => {
      const principal = await requireScope(parts.tokens, request, reply, 'order:execution', 'nested');
      if (principal === undefined) return noteTurnedAway(parts, request, reply);
      const accountId = request.query['accountId'];
      if (typeof accountId !== 'string' || accountId === '')
        return performWrite(parts, request, reply, badOrder('accountId is missing'));
      const account = requireAccount(parts.directory, principal, accountId, reply);
      if (account === undefined) return noteTurnedAway(parts, request, reply);
      return performWrite(parts, request, reply, cancelAccountOrder(parts.entry, account, request.params.ordId));
    },
  );
}

async function placeOrder(parts: SandboxParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const principal = await requireScope(parts.tokens, request, reply, 'order:execution', 'nested');
  if (principal === undefined) return noteTurnedAway(parts, request, reply);
  const terms = understood(parts, request);
  if ('refused' in terms) return performWrite(parts, request, reply, terms);
  const account = requireAccount(parts.directory, principal, terms.accountId, reply);
  if (account === undefined) return noteTurnedAway(parts, request, reply);
  return performWrite(parts, request, reply, placeAccountOrder(parts.entry, account, terms));
}

function understood(parts: SandboxParts, request: FastifyRequest): OrderRequestTerms | Refusal {
  const body = readBody(request.body, request.headers['content-type']);
  if ('fault' in body) return { ...badOrder(body.message), code: body.fault };
  try {
    const terms = readOrderRequest(body.members);
    return parts.entry.instrument('account', terms.symbol) === undefined ? badOrder('symbol is not known') : terms;
  } catch (error) {
    if (error instanceof MemberFault) return badOrder(error.message);
    throw error;
  }
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ordersPath, predictionOrdersPath } from '../../platform/wire/order-pages.ts';
import type { ExchangeAccount } from '../exchange/exchange-account.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { forbidden, sendNested, sendPredictionError } from './error-bodies.ts';
import { getOrder, listOrders, readListQuery } from './list-orders.ts';
import { requireAccount, requireScope } from './require-scope.ts';

/** Reading equity and option orders (docs/platform-assumptions.md, "Equity and option orders"). */
export function orderRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get<{ Querystring: Record<string, unknown> }>(ordersPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'order:information', 'nested');
    if (principal === undefined) return reply;
    const query = readListQuery(request.query, { reference: 'clOrdId', state: 'status' });
    if ('fault' in query) return sendNested(reply, 400, 'invalid_request', 'INVALID_PARAMETER', query.fault);
    const account = requireAccount(parts.directory, principal, query.accountId, reply);
    if (account === undefined) return reply;
    return reply.type('application/json').send(listOrders(parts, account, 'account', query, request.lagMs));
  });
  app.get<{ Params: { ordId: string }; Querystring: Record<string, unknown> }>(`${ordersPath}/:ordId`, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'order:information', 'nested');
    if (principal === undefined) return reply;
    const accountId = request.query['accountId'];
    if (typeof accountId !== 'string' || accountId === '')
      return sendNested(reply, 400, 'invalid_request', 'INVALID_PARAMETER', 'accountId is missing');
    const account = requireAccount(parts.directory, principal, accountId, reply);
    if (account === undefined) return reply;
    const row = getOrder(parts, account, 'account', request.params.ordId, request.lagMs);
    if (row === undefined) return sendNested(reply, 404, 'not_found', 'ORDER_NOT_FOUND', 'No such order on this account');
    return reply.type('application/json').send(row);
  });
}

/** Reading prediction orders: staging only, enrolled accounts only (docs/platform-assumptions.md, "Prediction orders"). */
export function predictionRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get<{ Querystring: Record<string, unknown> }>(predictionOrdersPath, async (request, reply) => {
    const query = readListQuery(request.query, { reference: 'clientOrderRef', state: 'state' });
    const account = await enrolledAccount(parts, request, reply, 'fault' in query ? query : query.accountId);
    if (account === undefined || 'fault' in query) return reply;
    const page = listOrders(parts, account, 'prediction', query, request.lagMs);
    return reply.type('application/json').send(`{"success":true,"data":${page}}`);
  });
  app.get<{ Params: { orderId: string }; Querystring: Record<string, unknown> }>(
    `${predictionOrdersPath}/:orderId`,
    async (request, reply) => {
      const accountId = request.query['accountId'];
      const named = typeof accountId === 'string' && accountId !== '';
      const account = await enrolledAccount(parts, request, reply, named ? accountId : { fault: 'accountId is missing' });
      if (account === undefined) return reply;
      const row = getOrder(parts, account, 'prediction', request.params.orderId, request.lagMs);
      if (row === undefined) return sendPredictionError(reply, 'ORDER_NOT_FOUND', 'No such order on this account');
      return reply.type('application/json').send(`{"success":true,"data":${row}}`);
    },
  );
}

/** Token, then parameters, then account: who may not ask learns nothing of what is wrong with the question. */
async function enrolledAccount(
  parts: SandboxParts,
  request: FastifyRequest,
  reply: FastifyReply,
  accountId: string | { readonly fault: string },
): Promise<ExchangeAccount | undefined> {
  const principal = await requireScope(parts.tokens, request, reply, 'order:information', 'prediction');
  if (principal === undefined) return undefined;
  if (typeof accountId !== 'string') {
    sendPredictionError(reply, 'INVALID_ORDER', accountId.fault);
    return undefined;
  }
  const account = requireAccount(parts.directory, principal, accountId, reply);
  if (account === undefined || account.predictions) return account;
  forbidden(reply, 'nested', 'This account is not enrolled for prediction orders');
  return undefined;
}

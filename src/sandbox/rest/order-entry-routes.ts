import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ordersPath, predictionOrdersPath } from '../../venue/platform/wire/order-pages.ts';
import type { Principal } from '../auth/directory.ts';
import { cancelAccountOrder, placeAccountOrder } from '../entry/account-order-writes.ts';
import {
  cancelPredictionOrder,
  placePredictionOrder,
  replacePredictionOrder,
} from '../entry/prediction-order-writes.ts';
import { type OrderRequestTerms, readOrderRequest } from '../entry/read-order-request.ts';
import {
  placeMembers,
  readPredictionRequest,
  readReplaceRequest,
  replaceMembers,
} from '../entry/read-prediction-request.ts';
import { MemberFault, Members, readBody } from '../entry/request-members.ts';
import type { Refusal, Write } from '../entry/write.ts';
import { badOrder, predictionRefusal } from '../entry/write.ts';
import type { ExchangeAccount } from '../exchange/exchange-order.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { forbidden } from './error-bodies.ts';
import { noteTurnedAway, performWrite } from './perform-write.ts';
import { requireAccount, requireScope } from './require-scope.ts';

/**
 * `POST /v1/orders` (specification) and `DELETE /v1/orders/{ordId}?accountId=`
 * (docs/platform-assumptions.md): equities and options.
 */
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

type Handler = (request: FastifyRequest, principal: Principal) => Understood | Refusal;

interface Understood {
  readonly accountId: string;
  readonly write: (account: ExchangeAccount) => Write | Refusal;
}

/**
 * Writing prediction orders: staging only, enrolled accounts only (specification, "Prediction
 * orders"; docs/platform-assumptions.md for place and cancel).
 */
export function predictionEntryRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const one = `${predictionOrdersPath}/:orderId`;
  app.post(predictionOrdersPath, (request, reply) => enter(parts, request, reply, place(parts)));
  app.patch(one, (request, reply) => enter(parts, request, reply, replace(parts)));
  app.delete(one, (request, reply) => enter(parts, request, reply, cancel(parts)));
}

/** Token, scope, request, account, enrolment; only then the order itself. */
async function enter(
  parts: SandboxParts,
  request: FastifyRequest,
  reply: FastifyReply,
  handler: Handler,
): Promise<FastifyReply> {
  const principal = await requireScope(parts.tokens, request, reply, 'order:execution', 'prediction');
  if (principal === undefined) return noteTurnedAway(parts, request, reply);
  const asked = handler(request, principal);
  if ('refused' in asked) return performWrite(parts, request, reply, asked);
  const account = requireAccount(parts.directory, principal, asked.accountId, reply);
  if (account === undefined) return noteTurnedAway(parts, request, reply);
  if (account.predictions) return performWrite(parts, request, reply, asked.write(account));
  forbidden(reply, 'nested', 'This account is not enrolled for prediction orders');
  return noteTurnedAway(parts, request, reply);
}

const place =
  (parts: SandboxParts): Handler =>
  (request, principal) =>
    reading(request, placeMembers, (members) => {
      const terms = readPredictionRequest(members, parts.clock.nowMs() * 1000);
      if (parts.entry.instrument('prediction', terms.symbol) === undefined)
        throw new MemberFault('symbol is not known');
      return {
        accountId: terms.accountId,
        write: (account) => placePredictionOrder(parts.entry, account, terms, callerOf(principal)),
      };
    });

const replace =
  (parts: SandboxParts): Handler =>
  (request, principal) =>
    reading(request, replaceMembers, (members) => {
      const terms = readReplaceRequest(members, parts.clock.nowMs() * 1000);
      const orderId = orderIdOf(request);
      return {
        accountId: terms.accountId,
        write: (account) => replacePredictionOrder(parts.entry, account, orderId, terms, callerOf(principal)),
      };
    });

const cancel =
  (parts: SandboxParts): Handler =>
  (request) => {
    const accountId = (request.query as Record<string, unknown>)['accountId'];
    if (typeof accountId !== 'string' || accountId === '')
      return predictionRefusal('INVALID_ORDER', 'accountId is missing');
    return { accountId, write: (account) => cancelPredictionOrder(parts.entry, account, orderIdOf(request)) };
  };

/** A body's code among the four for 400 (specification, "Prediction order errors"). */
function reading(
  request: FastifyRequest,
  known: ReadonlySet<string>,
  read: (members: Members) => Understood,
): Understood | Refusal {
  const body = readBody(request.body, request.headers['content-type']);
  if ('fault' in body) return predictionRefusal(body.fault, body.message);
  const members = new Members(body.members);
  const unknown = members.unknownOf(known);
  if (unknown !== undefined)
    return predictionRefusal('UNKNOWN_FIELD', `The field ${unknown.slice(0, 50)} is not accepted`);
  try {
    return read(members);
  } catch (error) {
    if (error instanceof MemberFault) return predictionRefusal('INVALID_ORDER', error.message);
    throw error;
  }
}

function orderIdOf(request: FastifyRequest): string {
  return (request.params as { orderId: string }).orderId;
}

/** The user, or the client if it speaks for itself. */
function callerOf(principal: Principal): string {
  return principal.username ?? principal.clientId;
}

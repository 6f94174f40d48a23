import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ordersPath, predictionOrdersPath } from '../../venue/platform/wire/order-pages.ts';
import { predictionOrderRequest, replaceRequest } from '../../venue/platform/wire/order-writes.ts';
import type { Principal } from '../auth/directory.ts';
import { cancelAccountOrder, placeAccountOrder } from '../entry/account-order-writes.ts';
import {
  cancelPredictionOrder,
  placePredictionOrder,
  replacePredictionOrder,
} from '../entry/prediction-order-writes.ts';
import { readOrderRequest } from '../entry/read-order-request.ts';
import { readPredictionRequest, readReplaceRequest } from '../entry/read-prediction-request.ts';
import { type Fields, MemberFault, Members, readBody } from '../entry/request-members.ts';
import {
  type EntryDeps,
  type EntryFault,
  orderRefusal,
  predictionRefusal,
  type Refusal,
  type Write,
} from '../entry/write.ts';
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
  app.post(ordersPath, entering(parts, 'nested', placeOrder));
  app.delete(`${ordersPath}/:orderId`, entering(parts, 'nested', cancelWith(cancelAccountOrder, orderRefusal)));
}

/**
 * Writing prediction orders: staging only, enrolled accounts only (specification, "Prediction
 * orders"; docs/platform-assumptions.md for place and cancel).
 */
export function predictionEntryRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const one = `${predictionOrdersPath}/:orderId`;
  app.post(predictionOrdersPath, entering(parts, 'prediction', placePrediction));
  app.patch(one, entering(parts, 'prediction', replacePrediction));
  app.delete(one, entering(parts, 'prediction', cancelWith(cancelPredictionOrder, predictionRefusal)));
}

/** A request that was understood. */
interface Understood {
  readonly accountId: string;
  readonly write: (account: ExchangeAccount) => Write;
}

type Reader = (entry: EntryDeps, request: FastifyRequest, principal: Principal) => Understood | Refusal;

/** Token, scope, request, account, enrolment; only then the order itself. */
function entering(parts: SandboxParts, shape: 'nested' | 'prediction', read: Reader) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const principal = await requireScope(parts.tokens, request, reply, 'order:execution', shape);
    if (principal === undefined) return noteTurnedAway(parts, request, reply);
    const asked = read(parts.entry, request, principal);
    if ('refused' in asked) return performWrite(parts, request, reply, asked);
    const account = requireAccount(parts.directory, principal, asked.accountId, reply);
    if (account === undefined) return noteTurnedAway(parts, request, reply);
    if (shape === 'nested' || account.predictions) return performWrite(parts, request, reply, asked.write(account));
    forbidden(reply, 'nested', 'This account is not enrolled for prediction orders');
    return noteTurnedAway(parts, request, reply);
  };
}

const placeOrder: Reader = (entry, request) =>
  reading(request, orderRefusal, (members) => {
    const terms = readOrderRequest(members);
    if (entry.instrument('account', terms.symbol) === undefined) throw new MemberFault('symbol is not known');
    return { accountId: terms.accountId, write: (account) => placeAccountOrder(entry, account, terms) };
  });

const placePrediction: Reader = (entry, request, principal) =>
  reading(request, predictionRefusal, (members) => {
    const unknown = members.unknownOf(predictionOrderRequest.shape);
    if (unknown !== undefined) return unknownField(unknown);
    const terms = readPredictionRequest(members, entry.clock.nowMs() * 1000);
    if (entry.instrument('prediction', terms.symbol) === undefined) throw new MemberFault('symbol is not known');
    const write = (account: ExchangeAccount) => placePredictionOrder(entry, account, terms, callerOf(principal));
    return { accountId: terms.accountId, write };
  });

const replacePrediction: Reader = (entry, request, principal) =>
  reading(request, predictionRefusal, (members) => {
    const unknown = members.unknownOf(replaceRequest.shape);
    if (unknown !== undefined) return unknownField(unknown);
    const terms = readReplaceRequest(members, entry.clock.nowMs() * 1000);
    const [orderId, by] = [orderIdOf(request), callerOf(principal)];
    return {
      accountId: terms.accountId,
      write: (account) => replacePredictionOrder(entry, account, orderId, terms, by),
    };
  });

type Refuse = (code: EntryFault, message: string) => Refusal;

function cancelWith(cancel: typeof cancelAccountOrder, refuse: Refuse): Reader {
  return (entry, request) => {
    const { accountId } = request.query as Fields;
    if (typeof accountId !== 'string' || accountId === '') return refuse('INVALID_ORDER', 'accountId is missing');
    return { accountId, write: (account) => cancel(entry, account, orderIdOf(request)) };
  };
}

/** A body's code among the four for 400 (specification, "Prediction order errors"). */
function reading(
  request: FastifyRequest,
  refuse: Refuse,
  read: (members: Members) => Understood | Refusal,
): Understood | Refusal {
  const body = readBody(request.body, request.headers['content-type']);
  if ('fault' in body) return refuse(body.fault, body.message);
  try {
    return read(new Members(body.members));
  } catch (error) {
    if (error instanceof MemberFault) return refuse('INVALID_ORDER', error.message);
    throw error;
  }
}

function unknownField(name: string): Refusal {
  return predictionRefusal('UNKNOWN_FIELD', `The field ${name.slice(0, 50)} is not accepted`);
}

function orderIdOf(request: FastifyRequest): string {
  return (request.params as { orderId: string }).orderId;
}

/** The user, or the client if it speaks for itself. */
function callerOf(principal: Principal): string {
  return principal.username ?? principal.clientId;
}

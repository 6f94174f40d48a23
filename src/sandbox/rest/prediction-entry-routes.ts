import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { predictionOrdersPath } from '../../platform/wire/order-pages.ts';
import type { Principal } from '../auth/directory.ts';
import { cancelPredictionOrder, placePredictionOrder, replacePredictionOrder } from '../entry/prediction-order-writes.ts';
import { placeMembers, readPredictionRequest, readReplaceRequest, replaceMembers } from '../entry/read-prediction-request.ts';
import { predictionRefusal } from '../entry/refusals.ts';
import { MemberFault, Members, readBody } from '../entry/request-members.ts';
import type { Refusal, Write } from '../entry/write.ts';
import type { ExchangeAccount } from '../exchange/exchange-account.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { forbidden } from './error-bodies.ts';
import { noteTurnedAway, performWrite } from './perform-write.ts';
import { requireAccount, requireScope } from './require-scope.ts';

type Handler = (request: FastifyRequest, principal: Principal) => Understood | Refusal;

interface Understood {
  readonly accountId: string;
  readonly write: (account: ExchangeAccount) => Write | Refusal;
}

/** Writing prediction orders: staging only, enrolled accounts only (specification, "Prediction orders"; docs/platform-assumptions.md for place and cancel). */
export function predictionEntryRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const one = `${predictionOrdersPath}/:orderId`;
  app.post(predictionOrdersPath, (request, reply) => enter(parts, request, reply, place(parts)));
  app.patch(one, (request, reply) => enter(parts, request, reply, replace(parts)));
  app.delete(one, (request, reply) => enter(parts, request, reply, cancel(parts)));
}

/** Token, scope, what was asked, account, enrolment; only then the order itself. */
async function enter(parts: SandboxParts, request: FastifyRequest, reply: FastifyReply, handler: Handler): Promise<FastifyReply> {
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
      if (parts.entry.instrument('prediction', terms.symbol) === undefined) throw new MemberFault('symbol is not known');
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
    if (typeof accountId !== 'string' || accountId === '') return predictionRefusal('INVALID_ORDER', 'accountId is missing');
    return { accountId, write: (account) => cancelPredictionOrder(parts.entry, account, orderIdOf(request)) };
  };

/** Which of the four codes of 400 a body deserves (specification, "Prediction order errors"). */
function reading(
  request: FastifyRequest,
  known: ReadonlySet<string>,
  read: (members: Members) => Understood,
): Understood | Refusal {
  const body = readBody(request.body, request.headers['content-type']);
  if ('fault' in body) return predictionRefusal(body.fault, body.message);
  const members = new Members(body.members);
  const unknown = members.unknownOf(known);
  if (unknown !== undefined) return predictionRefusal('UNKNOWN_FIELD', `The field ${unknown.slice(0, 50)} is not accepted`);
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

/** The user, or the client where it speaks for itself. */
function callerOf(principal: Principal): string {
  return principal.username ?? principal.clientId;
}

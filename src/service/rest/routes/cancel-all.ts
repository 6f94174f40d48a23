import type { FastifyReply } from 'fastify';
import {
  type CancelAllBody,
  cancelAfterBody,
  cancelAllBody,
  parseCancelAfter,
  parseCancelAll,
} from '../../../contract/command-bodies.ts';
import { type CancelAllDocument, cancelAfterAnswer, cancelAllAnswer } from '../../../contract/rest-answers.ts';
import { madeOrder } from '../../../domain/command.ts';
import { resultOf } from '../../../domain/encode-command-result.ts';
import { formatIfKnown } from '../../../domain/instant.ts';
import { present } from '../../../domain/present.ts';
import { isDeclined, isOfThisProcess } from '../../commands/answer.ts';
import type { CancelAll, CancelAllPlace, CancelAllScope, TimersSet } from '../../commands/commands.ts';
import { refuseScope, scopeOfPath, wordOf } from '../auth/operator-scope.ts';
import { maySee, type Principal } from '../auth/principal.ts';
import { wasForwarded } from '../instances/forwarding.ts';
import { cancelAfterOfAll, cancelAllOfAll, longActMs } from '../instances/over-instances.ts';
import { atHolder, type Call, ofBody, type Route, type RouteParts, route } from '../route.ts';
import { readStore, sendJson, sendProblem } from '../send-answer.ts';
import { sendNotDone, submitResultBody } from '../send-command.ts';

export const cancelAllOfAccount = cancelAllRoute(
  '/v1/accounts/{accountId}/cancel-all',
  'cancelAllOfAccount',
  'Cancel the open orders of an account, all or those selected',
);
export const cancelAllOfService = cancelAllRoute(
  '/v1/cancel-all',
  'cancelAllOfService',
  'Cancel the open orders, all or those selected',
);

function cancelAllRoute(path: string, operationId: string, summary: string): Route {
  const ofAccount = path.includes('{accountId}');
  return route({
    method: 'POST',
    path,
    operationId,
    summary,
    describe:
      'A command for each order that is open now, after the accounts were read. `symbol`, `side`, `principal` and `reference` select: an order has to match each that is given, and one that matches none is left alone. It stays in force until the places that are unresolved now are resolved: what lands is cancelled, unless `onLanding` is `leave`. The same request under the same key is about the same orders and places, however late it comes, and tells what became of each. `open` says whether something may still be open.',
    tag: 'operations',
    scopes: ['ops:write'],
    body: cancelAllBody,
    parse: parseCancelAll,
    headers: ['Idempotency-Key'],
    answers: {
      200: { describe: 'Each order, and its command', schema: cancelAllAnswer, headers: ['Idempotent-Replayed'] },
    },
    problems: [
      ...ofBody,
      'IDEMPOTENCY_KEY_REQUIRED',
      'COMMANDS_OFF',
      'ACCOUNT_NOT_TRADED',
      'IDEMPOTENCY_KEY_REUSED',
      ...atHolder,
      ofAccount ? 'SOURCE_NOT_LIVE' : 'EVERY_ACCOUNT_NEEDED',
    ],
    handle: cancelOrders,
  });
}

async function cancelOrders(parts: RouteParts, call: Call<unknown, CancelAllBody>): Promise<FastifyReply> {
  const { request, reply, principal, params } = call;
  const refused = refuseScope(call, scopeOfPath(params));
  if (refused !== undefined) return refused;
  const idempotencyKey = String(request.headers['idempotency-key']);
  const { onLanding, only } = call.body;
  const word = { ...wordOf(call), onLanding, idempotencyKey };
  const scope = { ...(await scopeOf(parts, principal, params)), ...present({ only }) };
  const { forwarding } = parts;
  // This process's first answer says whether the key was known.
  let replayed: boolean | undefined;
  const cancel = async () => {
    const result = await parts.commands.cancelAll(scope, word);
    replayed ??= result.kind === 'done' && result.replayed;
    return isDeclined(result) ? result : ({ kind: 'done', body: answerOf(result) } as const);
  };
  const { accountId } = params;
  const patient = { ...call, patienceMs: longActMs };
  const result = await (accountId === undefined
    ? cancelAllOfAll(forwarding, patient, cancel)
    : forwarding.enter(patient, accountId, cancel));
  if (result.kind !== 'done') return sendNotDone(reply, result);
  if (replayed) reply.header('idempotent-replayed', 'true');
  return sendJson(reply, result.body);
}

async function scopeOf(
  { reads }: RouteParts,
  principal: Principal,
  { accountId }: Readonly<Record<string, string>>,
): Promise<CancelAllScope> {
  if (accountId !== undefined) return { kind: 'account', accountId };
  const { items } = await readStore(reads.accounts(principal.accounts));
  return { kind: 'service', accountIds: [...new Set(items.map((row) => row.accountId))] };
}

function answerOf({ open, inForce, orders, places, unread, declined }: CancelAll) {
  const body = {
    open,
    inForce,
    orders: orders.map(({ accountId, stream, orderId, result }) => ({
      accountId,
      stream,
      orderId,
      ...submitResultBody(result),
    })),
    places: places.map(placeOf),
    unread: unread.map(({ accountId, stream, code, message }) => ({ accountId, stream, code, detail: message })),
    declined: declined.map(({ accountId, code, message }) => ({ accountId, code, detail: message })),
  };
  // Safe: the tests hold every answer against its route's shape.
  return body as CancelAllDocument;
}

function placeOf({ accountId, stream, commandId, command, result }: CancelAllPlace): object {
  const of = { accountId, stream, commandId };
  if (command === undefined) return { ...of, result: 'unknown' };
  return {
    ...of,
    result: resultOf(command),
    state: command.state,
    orderId: madeOrder(command),
    cancel: result && submitResultBody(result),
  };
}

export const cancelAfter = route({
  method: 'POST',
  path: '/v1/cancel-after',
  operationId: 'cancelAfter',
  summary: 'Arm, renew or disarm the dead man’s switch',
  describe:
    'Unless the same principal calls again within `seconds`, every open order of these accounts is cancelled, no matter which caller placed it, as by a cancel-all. It holds over restarts and takeovers of the service. Each account has a timer for each principal; a call sets those of the accounts that it names.',
  tag: 'operations',
  scopes: ['orders:write'],
  body: cancelAfterBody,
  parse: parseCancelAfter,
  answers: { 200: { describe: 'As it is set now', schema: cancelAfterAnswer } },
  problems: [...ofBody, 'COMMANDS_OFF', 'ACCOUNT_NOT_TRADED', 'ACCOUNT_NOT_FOUND', ...atHolder, 'SOURCE_NOT_LIVE'],
  handle: async (parts, call) => {
    const { request, reply, principal, body } = call;
    if (body.accountIds?.some((accountId) => !maySee(principal.accounts, accountId)))
      return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
    const followed =
      body.accountIds ?? (await readStore(parts.reads.accounts(principal.accounts))).items.map((row) => row.accountId);
    const accountIds = [...new Set(followed)];
    if (accountIds.length === 0) return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
    const implied = body.accountIds === undefined;
    const afterMs = body.seconds * 1000;
    const asked = { principal: principal.name, afterMs, accountIds, implied, requestId: request.id };
    const arm = async () => {
      const result = await parts.commands.cancelAfter(asked);
      if (isDeclined(result)) return result;
      // A caller can rely only on an answer for all its accounts. Armed ones stay so until it calls
      // again, or they run out.
      const refused = result.declined.find(({ code }) => !isOfThisProcess(code));
      return refused === undefined
        ? ({ kind: 'done', body: timersPartOf(result) } as const)
        : ({ kind: 'declined', ...refused } as const);
    };
    const given = await cancelAfterOfAll(parts.forwarding, call, arm, accountIds);
    if (given.kind !== 'done') return sendNotDone(reply, given);
    // None of them is followed now.
    if (given.body.accountIds.length === 0 && !wasForwarded(request)) return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
    return sendJson(reply, given.body);
  },
});

function timersPartOf({ accountIds, firesAtMs, declined }: TimersSet) {
  return {
    accountIds: [...accountIds],
    declined: declined.map(({ accountId, code }) => ({ accountId, code })),
    firesAt: formatIfKnown(firesAtMs),
  };
}

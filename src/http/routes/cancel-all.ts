import type { CancelAllPlace, CancelAllResult, CancelAllScope } from '../../commands/commands.ts';
import { cancelAllBody, parseCancelAll } from '../../schema/operator-bodies.ts';
import { cancelAllAnswer } from '../../schema/rest-answers.ts';
import type { Principal } from '../auth/principal.ts';
import { refuseScope, scopeOfPath } from '../operator-scope.ts';
import { readStore } from '../read-store.ts';
import type { Route, RouteParts } from '../route.ts';
import { sendJson } from '../send-answer.ts';
import { sendBodyFaults } from '../send-body-faults.ts';
import { readIdempotencyKey, sendDecline, sendKeyMissing, submitResultBody } from '../send-command.ts';

export const cancelAllOfAccount = cancelAllRoute(
  '/v1/accounts/{accountId}/cancel-all',
  'cancelAllOfAccount',
  'Cancel the open orders of an account, all or those selected',
);
export const cancelAllOfService = cancelAllRoute('/v1/cancel-all', 'cancelAll', 'Cancel the open orders, all or those selected');

function cancelAllRoute(path: string, operationId: string, summary: string): Route {
  const ofAccount = path.includes('{accountId}');
  return {
    method: 'POST',
    path,
    operationId,
    summary,
    describe:
      'A command for each order that is open now, after the accounts were read. `symbol`, `side`, `principal` and `reference` select: an order has to match each that is given, and one that matches none is left alone. It stays in force until the places that are unresolved now are settled: what lands is cancelled, unless `onLanding` is `leave`. The same request under the same key is about the same orders and places, however late it comes, and tells what became of each. `open` says whether something may still be open.',
    tag: 'operations',
    scopes: ['ops:write'],
    ...(ofAccount ? { params: { accountId: 'accountId' } as const } : {}),
    body: cancelAllBody,
    headers: ['Idempotency-Key'],
    answers: { 200: { describe: 'Each order, and its command', schema: cancelAllAnswer, headers: ['Idempotent-Replayed'] } },
    problems: {
      400: ['INVALID_BODY', 'UNKNOWN_FIELD', 'IDEMPOTENCY_KEY_REQUIRED'],
      403: ['COMMANDS_OFF', 'ACCOUNT_NOT_TRADED', ...(ofAccount ? [] : ['EVERY_ACCOUNT_NEEDED'])],
      ...(ofAccount ? { 404: ['ACCOUNT_NOT_FOUND'] } : {}),
      422: ['IDEMPOTENCY_KEY_REUSED'],
      503: ['NOT_LEADER', 'DRAINING', 'STORE_UNAVAILABLE'],
    },
    handle: async (parts, { request, reply, principal, params }) => {
      const refused = refuseScope({ reply, principal }, scopeOfPath(params));
      if (refused !== undefined) return refused;
      const idempotencyKey = readIdempotencyKey(request.headers['idempotency-key']);
      if (idempotencyKey === undefined) return sendKeyMissing(reply);
      const body = parseCancelAll(request.body);
      if (!body.ok) return sendBodyFaults(reply, 'INVALID_BODY', body.faults);
      const { reason, onLanding, only } = body;
      const word = { by: principal.name, reason, onLanding, requestId: request.id, idempotencyKey };
      const scope = { ...(await scopeOf(parts, principal, params)), ...(only !== undefined && { only }) };
      const result = await parts.commands.cancelAll(scope, word);
      if (result.kind === 'declined') return sendDecline(reply, result);
      if (result.replayed) reply.header('idempotent-replayed', 'true');
      return sendJson(reply, 200, answerOf(result));
    },
  };
}

async function scopeOf(
  { reads }: RouteParts,
  principal: Principal,
  { accountId }: Readonly<Record<string, string>>,
): Promise<CancelAllScope> {
  if (accountId !== undefined) return { kind: 'account', accountId };
  const rows = await readStore(reads.accounts(principal.accounts));
  return { kind: 'service', accountIds: [...new Set(rows.map((row) => row.accountId))] };
}

function answerOf({ open, inForce, orders, places, unread, declined }: Extract<CancelAllResult, { kind: 'done' }>): object {
  return {
    open,
    inForce,
    orders: orders.map(({ accountId, stream, orderId, result }) => ({ accountId, stream, orderId, ...submitResultBody(result) })),
    places: places.map(placeOf),
    unread: unread.map(({ accountId, stream, code, message }) => ({ accountId, stream, code, detail: message })),
    declined: declined.map(({ accountId, code, message }) => ({ accountId, code, detail: message })),
  };
}

function placeOf({ accountId, stream, commandId, command, result }: CancelAllPlace): object {
  const of = { accountId, stream, commandId };
  if (command === undefined) return { ...of, outcome: 'unknown' };
  const { state, orderId } = command;
  return {
    ...of,
    outcome: state === 'open' ? 'unknown' : state,
    state,
    ...(orderId !== undefined && { orderId }),
    ...(result !== undefined && { cancel: submitResultBody(result) }),
  };
}

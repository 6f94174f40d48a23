import type { CancelAllResult } from '../../commands/commands.ts';
import { parseReason, reasonBody } from '../../schema/operator-bodies.ts';
import { cancelAllAnswer } from '../../schema/rest-answers.ts';
import { refuseScope, scopeOfPath } from '../operator-scope.ts';
import { readStore } from '../read-store.ts';
import type { Route } from '../route.ts';
import { sendJson } from '../send-answer.ts';
import { sendBodyFaults } from '../send-body-faults.ts';
import { readIdempotencyKey, sendDecline, sendKeyMissing, submitResultBody } from '../send-command.ts';

export const cancelAllOfAccount = cancelAllRoute(
  '/v1/accounts/{accountId}/cancel-all',
  'cancelAllOfAccount',
  'Cancel every open order of an account',
);
export const cancelAllOfService = cancelAllRoute('/v1/cancel-all', 'cancelAll', 'Cancel every open order');

function cancelAllRoute(path: string, operationId: string, summary: string): Route {
  const ofAccount = path.includes('{accountId}');
  return {
    method: 'POST',
    path,
    operationId,
    summary,
    describe: 'A command for each order. The same key again sends nothing twice, and tells what became of each.',
    tag: 'operations',
    scopes: ['ops:write'],
    ...(ofAccount ? { params: { accountId: 'accountId' } as const } : {}),
    body: reasonBody,
    headers: ['Idempotency-Key'],
    answers: { 200: { describe: 'Each order, and its command', schema: cancelAllAnswer } },
    problems: {
      400: ['INVALID_BODY', 'UNKNOWN_FIELD', 'IDEMPOTENCY_KEY_REQUIRED'],
      403: ['COMMANDS_OFF', 'ACCOUNT_NOT_TRADED', ...(ofAccount ? [] : ['EVERY_ACCOUNT_NEEDED'])],
      ...(ofAccount ? { 404: ['ACCOUNT_NOT_FOUND'] } : {}),
      503: ['NOT_LEADER', 'DRAINING', 'STORE_UNAVAILABLE'],
    },
    handle: async (parts, { request, reply, principal, params }) => {
      const { commands, reads } = parts;
      const refused = refuseScope(parts, { reply, principal }, scopeOfPath(params));
      if (refused !== undefined) return refused;
      const idempotencyKey = readIdempotencyKey(request.headers['idempotency-key']);
      if (idempotencyKey === undefined) return sendKeyMissing(reply);
      const body = parseReason(request.body);
      if (!body.ok) return sendBodyFaults(reply, 'INVALID_BODY', body.faults);
      const word = { by: principal.name, reason: body.reason, requestId: request.id, idempotencyKey };
      const { accountId } = params;
      if (accountId !== undefined) {
        const result = await commands.cancelAll(accountId, word);
        return result.kind === 'declined' ? sendDecline(reply, result) : sendJson(reply, 200, answerOf([[accountId, result]]));
      }
      const rows = await readStore(reads.accounts(principal.accounts));
      const swept: [string, CancelAllResult][] = [];
      for (const id of new Set(rows.map((row) => row.accountId))) swept.push([id, await commands.cancelAll(id, word)]);
      return sendJson(reply, 200, answerOf(swept));
    },
  };
}

function answerOf(swept: readonly (readonly [accountId: string, result: CancelAllResult])[]): object {
  return {
    orders: swept.flatMap(([accountId, result]) =>
      result.kind === 'declined'
        ? []
        : result.orders.map((entry) => ({
            accountId,
            stream: entry.stream,
            orderId: entry.orderId,
            ...submitResultBody(entry.result),
          })),
    ),
    declined: swept.flatMap(([accountId, result]) =>
      result.kind === 'declined' ? [{ accountId, code: result.code, detail: result.message }] : [],
    ),
  };
}

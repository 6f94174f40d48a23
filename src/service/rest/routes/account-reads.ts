import { accountRepairList } from '../../../contract/account-answers.ts';
import { backfillBody, parseAccountRead, readAccountBody } from '../../../contract/command-bodies.ts';
import { formatInstant } from '../../../domain/instant.ts';
import type { AccountRepair } from '../../../store/account-repairs.ts';
import { maySee } from '../auth/principal.ts';
import { readStore } from '../problem.ts';
import { ofBody } from '../problem-codes.ts';
import type { Route } from '../route.ts';
import { sendBodyFaults, sendJson, sendProblem } from '../send-answer.ts';

/**
 * The service keeps answered requests for as long as it keeps the log; a person looks at the
 * newest.
 */
const listed = 50;

export const readAccount = readRoute(
  'read',
  'readAccount',
  'Read the newest changes of an account now',
  'All orders that changed since the last complete read, and every order that is open here.',
);
export const backfillAccount = readRoute(
  'backfill',
  'backfillAccount',
  'Read an account from a time on, or whole',
  'All orders that changed since `from`, and every order that is open here. Orders that are known already are not changed by being read again.',
);

function readRoute(kind: AccountRepair['kind'], operationId: string, summary: string, describe: string): Route {
  return {
    method: 'POST',
    path: `/v1/accounts/{accountId}/${kind}`,
    operationId,
    summary,
    describe: `${describe} The process that follows the account does it within seconds, one request at a time: ask \`GET /v1/accounts/{accountId}/repairs\` for the result.`,
    tag: 'accounts',
    scopes: ['ops:write'],
    params: { accountId: 'accountId' },
    body: kind === 'read' ? readAccountBody : backfillBody,
    answers: {
      202: { describe: 'It was written down, once for each stream', schema: accountRepairList, headers: ['Location'] },
    },
    problems: [...ofBody, 'ACCOUNT_NOT_FOUND', 'TOO_MANY_REPAIRS'],
    handle: async ({ repairs, auditTrail, clock }, { request, reply, principal, params }) => {
      const { accountId = '' } = params;
      if (!maySee(principal.accounts, accountId)) return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
      const body = parseAccountRead(kind, request.body);
      if (!body.ok) return sendBodyFaults(reply, 'INVALID_BODY', body.faults);
      const { ok: _ok, reason, ...asked } = body;
      const made = await readStore(repairs.ask({ kind, accountId, ...asked, askedBy: principal.name, reason }));
      if (made === 'not_followed') return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
      if (made === 'too_many') {
        const detail = 'ten reads of this account wait or are under way: ask for their results first';
        return sendProblem(reply.header('retry-after', '5'), 'TOO_MANY_REPAIRS', detail);
      }
      const detail = { requests: made.map(({ id }) => id.toString()), ...bodyOf(asked) };
      const act = { atMs: clock.nowMs(), principal: principal.name, action: kind, requestId: request.id };
      auditTrail.record({ ...act, accountId, reason, detail });
      reply.header('location', `/v1/accounts/${encodeURIComponent(accountId)}/repairs`);
      return sendJson(reply, 202, { items: made.map(repairBody) });
    },
  };
}

export const listRepairs: Route = {
  method: 'GET',
  path: '/v1/accounts/{accountId}/repairs',
  operationId: 'listAccountRepairs',
  summary: 'List the reads of an account that people asked for',
  describe: 'The newest 50, newest first, from REST and from the command line.',
  tag: 'accounts',
  scopes: ['ops:read'],
  params: { accountId: 'accountId' },
  answers: { 200: { describe: 'Those that wait, and those that are done', schema: accountRepairList } },
  problems: ['ACCOUNT_NOT_FOUND'],
  rows: listed,
  handle: async ({ repairs }, { reply, principal, params }) => {
    const { accountId = '' } = params;
    if (!maySee(principal.accounts, accountId)) return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
    const items = await readStore(repairs.list(accountId, listed));
    return sendJson(reply, 200, { items: items.map(repairBody) });
  },
};

function repairBody({ id, kind, stream, sinceMs, askedBy, reason, requestedMs, answer }: AccountRepair): object {
  return {
    ...{ requestId: id.toString(), kind, stream },
    ...bodyOf({ sinceMs }),
    ...(askedBy !== undefined && { by: askedBy }),
    ...(reason !== undefined && { reason }),
    requestedAt: formatInstant(requestedMs),
    state: answer?.outcome ?? 'waiting',
    ...(answer !== undefined && { detail: answer.detail, answeredAt: formatInstant(answer.answeredMs) }),
  };
}

function bodyOf({ stream, sinceMs }: { readonly stream?: string; readonly sinceMs?: number | undefined }): object {
  return { ...(stream !== undefined && { stream }), ...(sinceMs !== undefined && { from: formatInstant(sinceMs) }) };
}

import { z } from 'zod';
import { accountList, accountRepairList } from '../../../contract/account-answers.ts';
import { backfillBody, parseAccountRead, readAccountBody } from '../../../contract/account-bodies.ts';
import { exposureList } from '../../../contract/rest-answers.ts';
import { formatIfKnown, formatInstant } from '../../../domain/instant.ts';
import type { AccountRepair } from '../../../store/account-repairs.ts';
import type { AccountRow, AccountScope } from '../../../store/orders/order-reads.ts';
import { maySee } from '../auth/principal.ts';
import { accountsOfAll } from '../instances/over-instances.ts';
import { accountField, cursorField, limitOr, pageMost, streamField } from '../request-fields.ts';
import { anyRead, ofBody, operatorRead, type Route, route } from '../route.ts';
import { readStore, sendJson, sendProblem } from '../send-answer.ts';
import type { FollowedAccount } from '../service-view.ts';

const accountPosition = z.tuple([z.string().max(128), streamField]);

export const listAccounts = route({
  ...anyRead,
  path: '/v1/accounts',
  operationId: 'listAccounts',
  summary: 'List the accounts of the token that are followed, with their state',
  describe:
    'The processes of the fleet share the accounts. States of accounts that another process follows are asked of it; where it gives no answer within two seconds, their state is `elsewhere`.',
  tag: 'accounts',
  query: z.strictObject({ accountId: accountField.exactOptional(), limit: limitOr(pageMost), cursor: cursorField }),
  answers: { 200: { describe: 'A page of accounts, on each of their streams', schema: accountList } },
  problems: ['INVALID_CURSOR', 'ACCOUNT_NOT_FOUND'],
  rows: pageMost,
  handle: ({ reads, pages, accountStates, clock, forwarding }, call) => {
    const { accounts } = call.principal;
    const { limit = pageMost, cursor, ...filter } = call.query;
    const states = accountStates();
    const followed = new Map(states?.map((each) => [`${each.stream} ${each.accountId}`, each]));
    const itemOf = (row: AccountRow) => {
      const state = followed.get(`${row.stream} ${row.accountId}`);
      if (state !== undefined) return { ...row, ...stateBody(state, accounts, clock.nowMs()) };
      const holder = forwarding.others.holderOf(row.accountId);
      if (holder !== undefined) return { ...row, state: 'elsewhere', instance: holder.instance };
      return states === undefined ? row : { ...row, state: 'not_followed' };
    };
    const beside = { statesKnown: states !== undefined };
    const read = async (after: readonly string[] | undefined) => {
      const { accountId } = filter;
      const asked = accountId === undefined ? accounts : { kind: 'accounts' as const, accountIds: [accountId] };
      const page = await readStore(reads.accounts(asked, after, limit));
      const own = { items: page.items.map(itemOf), ...beside };
      const { items } = await accountsOfAll({ forwarding, clock }, call, own);
      return { ...page, items };
    };
    const asked = { list: 'accounts', filter, cursor, position: accountPosition, beside };
    return pages.send(call, asked, read, JSON.stringify);
  },
});

function stateBody(followed: FollowedAccount, scope: AccountScope, nowMs: number): object {
  const { state, sinceMs, silentLosses, lastAudit, lastEventMs, lastResyncMs, tokenExpiresMs, standing } = followed;
  const seesAll = scope.kind === 'all' || followed.beside.every((accountId) => maySee(scope, accountId));
  const { atMs, ...found } = lastAudit ?? {};
  return {
    state,
    since: formatInstant(sinceMs),
    lastEvent: formatIfKnown(lastEventMs),
    lastResync: formatIfKnown(lastResyncMs),
    lastAudit: lastAudit && { at: formatIfKnown(atMs), ...found },
    silentLosses,
    lastError: seesAll ? followed.lastError : undefined,
    platformStatus: standing?.status,
    placeable: standing?.isOpen,
    unlistedSince: formatIfKnown(standing?.unlistedSinceMs),
    tokenExpires: formatIfKnown(tokenExpiresMs),
    tokenSecondsLeft: tokenExpiresMs && Math.max(0, Math.floor((tokenExpiresMs - nowMs) / 1000)),
  };
}

export const showExposure = route({
  ...anyRead,
  path: '/v1/exposure',
  operationId: 'getExposure',
  summary: 'Read what is at risk: open and unresolved as if live',
  tag: 'accounts',
  query: z.strictObject({ accountId: accountField.exactOptional() }),
  answers: { 200: { describe: 'By account, instrument and side', schema: exposureList } },
  problems: ['ACCOUNT_NOT_FOUND'],
  rows: 500,
  handle: async ({ reads }, { reply, principal, query }) => {
    const items = await readStore(reads.exposure(principal.accounts, query.accountId));
    return sendJson(reply, { items });
  },
});

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
  return route({
    method: 'POST',
    path: `/v1/accounts/{accountId}/${kind}`,
    operationId,
    summary,
    describe: `${describe} The process that follows the account does it within seconds, one request at a time: ask \`GET /v1/accounts/{accountId}/repairs\` for the result.`,
    tag: 'accounts',
    scopes: ['ops:write'],
    body: kind === 'read' ? readAccountBody : backfillBody,
    parse: (body) => parseAccountRead(kind, body),
    answers: {
      202: { describe: 'It was written down, once for each stream', schema: accountRepairList, headers: ['Location'] },
    },
    problems: [...ofBody, 'TOO_MANY_REPAIRS'],
    handle: async ({ repairs, auditTrail, clock }, { request, reply, principal, params, body }) => {
      const { accountId = '' } = params;
      const { reason, stream, sinceMs } = body;
      const made = await readStore(repairs.ask({ kind, accountId, ...body, askedBy: principal.name }));
      if (made === 'not_followed') return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
      if (made === 'too_many') {
        const detail = 'ten reads of this account wait or are under way: ask for their results first';
        return sendProblem(reply.header('retry-after', '5'), 'TOO_MANY_REPAIRS', detail);
      }
      const detail = { requests: made.map(({ id }) => id.toString()), stream, from: formatIfKnown(sinceMs) };
      const act = { atMs: clock.nowMs(), principal: principal.name, action: kind, requestId: request.id };
      auditTrail.record({ ...act, accountId, reason, detail });
      reply.header('location', `/v1/accounts/${encodeURIComponent(accountId)}/repairs`);
      return sendJson(reply.code(202), { items: made.map(repairBody) });
    },
  });
}

export const listRepairs: Route = {
  ...operatorRead,
  path: '/v1/accounts/{accountId}/repairs',
  operationId: 'listAccountRepairs',
  summary: 'List the reads of an account that people asked for',
  describe: 'The newest 50, newest first, from REST and from the command line.',
  tag: 'accounts',
  answers: { 200: { describe: 'Those that wait, and those that are done', schema: accountRepairList } },
  rows: listed,
  handle: async ({ repairs }, { reply, params: { accountId = '' } }) => {
    const items = await readStore(repairs.list(accountId, listed));
    return sendJson(reply, { items: items.map(repairBody) });
  },
};

function repairBody({ id, kind, stream, sinceMs, askedBy, reason, requestedMs, answer }: AccountRepair): object {
  return {
    requestId: id.toString(),
    kind,
    stream,
    from: formatIfKnown(sinceMs),
    by: askedBy,
    reason,
    requestedAt: formatInstant(requestedMs),
    state: answer?.result ?? 'waiting',
    detail: answer?.detail,
    answeredAt: formatIfKnown(answer?.answeredMs),
  };
}

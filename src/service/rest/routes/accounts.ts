import { z } from 'zod';
import { accountList } from '../../../contract/account-answers.ts';
import { exposureList } from '../../../contract/rest-answers.ts';
import { formatInstant } from '../../../domain/instant.ts';
import type { AccountRow, AccountScope } from '../../../store/orders/order-reads.ts';
import type { FollowedAccount } from '../account-states.ts';
import { maySee } from '../auth/principal.ts';
import { accountsOfAll } from '../instances/over-instances.ts';
import { readStore } from '../problem.ts';
import { accountField, cursorField, limitOr, pageMost, streamField } from '../request-fields.ts';
import { route } from '../route.ts';
import { sendJson, sendProblem } from '../send-answer.ts';

const accountPosition = z.tuple([z.string().max(128), streamField]);

export const listAccounts = route({
  method: 'GET',
  path: '/v1/accounts',
  operationId: 'listAccounts',
  summary: 'List the accounts of the token that are followed, with their state',
  describe:
    'The processes of the fleet share the accounts. States of accounts that another process follows are asked of it; where it gives no answer within two seconds, their state is `elsewhere`.',
  tag: 'accounts',
  scopes: ['orders:read', 'ops:read'],
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
  const lastError = seesAll ? followed.lastError : undefined;
  const at = (name: string, ms: number | undefined) => (ms === undefined ? {} : { [name]: formatInstant(ms) });
  const found = lastAudit && {
    orders: lastAudit.orders,
    changes: lastAudit.changes,
    silentLosses: lastAudit.silentLosses,
  };
  return {
    state,
    ...at('since', sinceMs),
    ...at('lastEvent', lastEventMs),
    ...at('lastResync', lastResyncMs),
    ...(lastAudit !== undefined && { lastAudit: { at: formatInstant(lastAudit.atMs), ...found } }),
    silentLosses,
    ...(lastError !== undefined && { lastError }),
    ...(standing?.status !== undefined && { platformStatus: standing.status }),
    ...(standing !== undefined && { placeable: standing.isOpen }),
    ...at('unlistedSince', standing?.unlistedSinceMs),
    ...at('tokenExpires', tokenExpiresMs),
    ...(tokenExpiresMs !== undefined && { tokenSecondsLeft: Math.max(0, Math.floor((tokenExpiresMs - nowMs) / 1000)) }),
  };
}

export const showExposure = route({
  method: 'GET',
  path: '/v1/exposure',
  operationId: 'getExposure',
  summary: 'Read what is at risk: open and unresolved as if live',
  tag: 'accounts',
  scopes: ['orders:read', 'ops:read'],
  query: z.strictObject({ accountId: accountField.exactOptional() }),
  answers: { 200: { describe: 'By account, instrument and side', schema: exposureList } },
  problems: ['ACCOUNT_NOT_FOUND'],
  rows: 500,
  handle: async ({ reads }, { reply, principal, query }) => {
    const { accountId } = query;
    if (accountId !== undefined && !maySee(principal.accounts, accountId))
      return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
    const items = await readStore(reads.exposure(principal.accounts, accountId));
    return sendJson(reply, 200, { items });
  },
});

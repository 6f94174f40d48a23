import { z } from 'zod';
import { accountList } from '../../../contract/account-answers.ts';
import { exposureList } from '../../../contract/rest-answers.ts';
import { formatInstant } from '../../../domain/instant.ts';
import type { AccountScope } from '../../../store/orders/order-reads.ts';
import type { FollowedAccount } from '../account-states.ts';
import { maySee } from '../auth/principal.ts';
import { accountsOfAll } from '../instances/over-instances.ts';
import { readStore } from '../problem.ts';
import { accountField } from '../request-fields.ts';
import { type Route, route } from '../route.ts';
import { sendJson, sendMissing } from '../send-answer.ts';

export const listAccounts: Route = {
  method: 'GET',
  path: '/v1/accounts',
  operationId: 'listAccounts',
  summary: 'List the accounts of the token that are followed, with their state',
  describe:
    'The processes of the fleet share the accounts. States of accounts that another process follows are asked of it; where it gives no answer within two seconds, their state is `elsewhere`.',
  tag: 'accounts',
  scopes: ['orders:read', 'ops:read'],
  answers: { 200: { describe: 'Each account on each of its streams', schema: accountList } },
  rows: 100,
  handle: async ({ reads, accountStates, clock, forwarding }, call) => {
    const { reply, principal } = call;
    const rows = await readStore(reads.accounts(principal.accounts));
    const states = accountStates();
    const nowMs = clock.nowMs();
    const followed = new Map(states?.map((each) => [`${each.stream} ${each.accountId}`, each]));
    const items = rows.map((row) => {
      const state = followed.get(`${row.stream} ${row.accountId}`);
      if (state !== undefined) return { ...row, ...stateBody(state, principal.accounts, nowMs) };
      const holder = forwarding.others.holderOf(row.accountId);
      if (holder !== undefined) return { ...row, state: 'elsewhere', instance: holder.instance };
      return states === undefined ? row : { ...row, state: 'not_followed' };
    });
    const own = { items, statesKnown: states !== undefined };
    return sendJson(reply, 200, await accountsOfAll({ forwarding, clock }, call, own));
  },
};

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
  problems: { 404: ['ACCOUNT_NOT_FOUND'] },
  rows: 500,
  handle: async ({ reads }, { reply, principal, query }) => {
    const { accountId } = query;
    if (accountId !== undefined && !maySee(principal.accounts, accountId))
      return sendMissing(reply, 'ACCOUNT_NOT_FOUND');
    const items = await readStore(reads.exposure(principal.accounts, accountId));
    return sendJson(reply, 200, { items });
  },
});

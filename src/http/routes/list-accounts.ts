import { accountList } from '../../schema/rest-answers.ts';
import { readStore } from '../read-store.ts';
import type { Route } from '../route.ts';
import { sendJson } from '../send-answer.ts';

export const listAccounts: Route = {
  method: 'GET',
  path: '/v1/accounts',
  operationId: 'listAccounts',
  summary: 'List the accounts of the token that are followed',
  tag: 'operations',
  scopes: ['orders:read', 'ops:read'],
  answers: { 200: { describe: 'Each account on each of its streams', schema: accountList } },
  rows: 100,
  handle: async ({ reads }, { reply, principal }) => {
    const items = await readStore(reads.accounts(principal.accounts));
    return sendJson(reply, 200, { items });
  },
};

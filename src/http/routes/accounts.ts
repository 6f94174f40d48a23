import { z } from 'zod';
import { accountList, exposureList } from '../../schema/rest-answers.ts';
import { maySee } from '../auth/principal.ts';
import { readStore } from '../problem.ts';
import { accountField } from '../request-fields.ts';
import { type Route, route } from '../route.ts';
import { sendJson, sendMissing } from '../send-answer.ts';

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

export const showExposure = route({
  method: 'GET',
  path: '/v1/exposure',
  operationId: 'showExposure',
  summary: 'Read what is at risk: open and unresolved as if live',
  tag: 'operations',
  scopes: ['orders:read', 'ops:read'],
  query: z.strictObject({ accountId: accountField.exactOptional() }),
  answers: { 200: { describe: 'By account, instrument and side', schema: exposureList } },
  problems: { 404: ['ACCOUNT_NOT_FOUND'] },
  rows: 500,
  handle: async ({ reads }, { reply, principal, query }) => {
    const { accountId } = query;
    if (accountId !== undefined && !maySee(principal.accounts, accountId)) return sendMissing(reply, 'ACCOUNT_NOT_FOUND');
    const items = await readStore(reads.exposure(principal.accounts, accountId));
    return sendJson(reply, 200, { items });
  },
});

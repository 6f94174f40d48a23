import { z } from 'zod';
import { exposureList } from '../../schema/rest-answers.ts';
import { maySee } from '../auth/principal.ts';
import { accountField } from '../query-fields.ts';
import { readStore } from '../read-store.ts';
import { route } from '../route.ts';
import { sendJson, sendMissing } from '../send-answer.ts';

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

import { z } from 'zod';
import { reconcileAnswer } from '../../schema/rest-answers.ts';
import { refuseScope } from '../operator-scope.ts';
import { accountField, optionalFlag } from '../query-fields.ts';
import { route } from '../route.ts';
import { sendJson } from '../send-answer.ts';
import { sendDecline } from '../send-command.ts';

export const reconcile = route({
  method: 'POST',
  path: '/v1/reconcile',
  operationId: 'reconcile',
  summary: 'Ask the platform at once about every command with an unknown outcome',
  describe: 'Within the budget of probes. It only reads: it never places and never cancels.',
  tag: 'operations',
  scopes: ['ops:write'],
  query: z.strictObject({
    accountId: accountField.exactOptional(),
    dryRun: optionalFlag.describe('Only say what would be read'),
  }),
  answers: { 200: { describe: 'What was read, or would be, and what it settled', schema: reconcileAnswer } },
  problems: { 403: ['EVERY_ACCOUNT_NEEDED'], 404: ['ACCOUNT_NOT_FOUND'], 503: ['NOT_LEADER'] },
  handle: async (parts, { reply, principal, query }) => {
    const { accountId, dryRun = false } = query;
    const scope = accountId === undefined ? ({ kind: 'service' } as const) : ({ kind: 'account', accountId } as const);
    const refused = refuseScope({ reply, principal }, scope);
    if (refused !== undefined) return refused;
    const result = await parts.commands.reconcile({ dryRun, ...(accountId === undefined ? {} : { accountId }) });
    return result.kind === 'declined' ? sendDecline(reply, result) : sendJson(reply, 200, result.report);
  },
});

import { statusAnswer } from '../../schema/status-answer.ts';
import type { Route } from '../route.ts';
import { sendJson } from '../send-answer.ts';

export const showStatus: Route = {
  method: 'GET',
  path: '/v1/status',
  operationId: 'showStatus',
  summary: 'Read the state of the service, and whether its data can be trusted',
  describe:
    'Of the instance that answers. Accounts, halts, commands, losses and the quarantine are those of the token; the lane, rates and queues are of the whole service.',
  tag: 'operations',
  scopes: ['ops:read'],
  answers: { 200: { describe: 'Each doubt has a name, a runbook and a link', schema: statusAnswer } },
  rows: 100,
  handle: async ({ service }, { reply, principal }) => sendJson(reply, 200, await service.status(principal.accounts)),
};

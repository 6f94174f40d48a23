import { haltList } from '../../schema/rest-answers.ts';
import { haltBody } from '../halt-answer.ts';
import type { Route } from '../route.ts';
import { sendJson } from '../send-answer.ts';

export const listHalts: Route = {
  method: 'GET',
  path: '/v1/halts',
  operationId: 'listHalts',
  summary: 'List the halts in force',
  tag: 'operations',
  scopes: ['ops:read'],
  answers: { 200: { describe: 'Those of the service and of the accounts of the token', schema: haltList } },
  handle: ({ commands }, { reply, principal }) => sendJson(reply, 200, haltBody(commands.operator.halts(), principal.accounts)),
};

import { parseReplace, replaceBody } from '../../schema/command-bodies.ts';
import { commandAnswers, orderCommandHeaders, replaceProblems } from '../command-answers.ts';
import type { Route } from '../route.ts';
import { sendBodyFaults } from '../send-body-faults.ts';
import { sendCommand } from '../send-command.ts';

export const replacePredictionOrder: Route = {
  method: 'PATCH',
  path: '/v1/predictions/orders/{orderId}',
  operationId: 'replacePredictionOrder',
  summary: 'Replace the terms of a prediction order',
  describe: 'A term that is left out keeps its working value. At least one has to change.',
  tag: 'orders',
  scopes: ['orders:write'],
  params: { orderId: 'orderId' },
  body: replaceBody,
  headers: orderCommandHeaders,
  answers: commandAnswers,
  problems: { ...replaceProblems, 412: ['REVISION_MISMATCH'] },
  handle: (parts, call) => {
    const body = parseReplace(call.request.body);
    if (!body.ok) return sendBodyFaults(call.reply, 'INVALID_ORDER', body.faults);
    const { accountId, terms } = body;
    const { orderId = '' } = call.params;
    return sendCommand(parts, call, { request: { kind: 'replace', stream: 'prediction', accountId, orderId, terms } });
  },
};

import { z } from 'zod';
import type { Stream } from '../../domain/order.ts';
import { cancelProblems, commandAnswers, commandProblems, orderCommandHeaders } from '../command-answers.ts';
import { accountField } from '../query-fields.ts';
import { type Route, route } from '../route.ts';
import { sendCommand } from '../send-command.ts';

const query = z.strictObject({ accountId: accountField.describe('The account that the order is on') });

export const cancelOrder = cancelRoute('account', '/v1/orders/{orderId}', 'cancelOrder', 'Cancel an equity or option order');
export const cancelPredictionOrder = cancelRoute(
  'prediction',
  '/v1/predictions/orders/{orderId}',
  'cancelPredictionOrder',
  'Cancel a prediction order',
);

function cancelRoute(stream: Stream, path: string, operationId: string, summary: string): Route {
  return route({
    method: 'DELETE',
    path,
    operationId,
    summary,
    describe: 'Never refused while the order may still work: not by a halt, nor by an earlier cancel.',
    tag: 'orders',
    scopes: ['orders:write'],
    params: { orderId: 'orderId' },
    query,
    headers: orderCommandHeaders,
    answers: commandAnswers,
    problems: {
      ...commandProblems,
      400: ['IDEMPOTENCY_KEY_REQUIRED', 'INVALID_IF_MATCH'],
      409: cancelProblems,
      412: ['REVISION_MISMATCH'],
    },
    handle: (parts, call) => {
      const { orderId = '' } = call.params;
      return sendCommand(parts, call, { request: { kind: 'cancel', stream, accountId: call.query.accountId, orderId } });
    },
  });
}

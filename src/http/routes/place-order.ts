import { parsePlaceAccount, placeAccountBody } from '../../schema/command-bodies.ts';
import { commandAnswers, commandHeaders, placeProblems } from '../command-answers.ts';
import type { Route } from '../route.ts';
import { sendBodyFaults } from '../send-body-faults.ts';
import { sendCommand } from '../send-command.ts';

export const placeOrder: Route = {
  method: 'POST',
  path: '/v1/orders',
  operationId: 'placeOrder',
  summary: 'Place an equity or option order',
  describe:
    'The body of the platform’s own `POST /v1/orders`. `clientId` comes back as `callerRef` on every update of the order.',
  tag: 'orders',
  scopes: ['orders:write'],
  body: placeAccountBody,
  headers: commandHeaders,
  answers: commandAnswers,
  problems: placeProblems,
  handle: (parts, call) => {
    const body = parsePlaceAccount(call.request.body);
    if (!body.ok) return sendBodyFaults(call.reply, 'INVALID_ORDER', body.faults);
    const { ok: _ok, accountId, terms, ...named } = body;
    return sendCommand(parts, call, { request: { kind: 'place', stream: 'account', accountId, terms }, ...named });
  },
};

import { parsePlacePrediction, placePredictionBody } from '../../schema/command-bodies.ts';
import { commandAnswers, commandHeaders, placeProblems } from '../command-answers.ts';
import type { Route } from '../route.ts';
import { sendBodyFaults } from '../send-body-faults.ts';
import { sendCommand } from '../send-command.ts';

export const placePredictionOrder: Route = {
  method: 'POST',
  path: '/v1/predictions/orders',
  operationId: 'placePredictionOrder',
  summary: 'Place a prediction order',
  describe: '`clientOrderRef` comes back as `callerRef` on every update of the order.',
  tag: 'orders',
  scopes: ['orders:write'],
  body: placePredictionBody,
  headers: commandHeaders,
  answers: commandAnswers,
  problems: placeProblems,
  handle: (parts, call) => {
    const body = parsePlacePrediction(call.request.body);
    if (!body.ok) return sendBodyFaults(call.reply, 'INVALID_ORDER', body.faults);
    const { ok: _ok, accountId, terms, ...named } = body;
    return sendCommand(parts, call, { request: { kind: 'place', stream: 'prediction', accountId, terms }, ...named });
  },
};

import { parseSettlement, settlementBody } from '../../schema/operator-bodies.ts';
import { commandAnswer } from '../../schema/rest-answers.ts';
import { operatorWord } from '../operator-scope.ts';
import { readStore } from '../read-store.ts';
import type { Route } from '../route.ts';
import { sendMissing } from '../send-answer.ts';
import { sendBodyFaults } from '../send-body-faults.ts';
import { sendCommandState, sendDecline } from '../send-command.ts';
import { requestedAnswer, sendRequested } from './approvals.ts';

export const settleCommand: Route = {
  method: 'POST',
  path: '/v1/commands/{commandId}/settlement',
  operationId: 'settleCommand',
  summary: 'Say what became of a command',
  describe: 'A person’s word, recorded with the reason: for a command that is `unknown`, `accepted` or in `conflict`.',
  tag: 'commands',
  scopes: ['ops:write'],
  params: { commandId: 'commandId' },
  body: settlementBody,
  answers: {
    200: { describe: 'The command as it is settled', schema: commandAnswer, headers: ['Location'] },
    202: requestedAnswer,
  },
  problems: {
    400: ['INVALID_BODY', 'UNKNOWN_FIELD'],
    404: ['COMMAND_NOT_FOUND'],
    409: ['ALREADY_SETTLED'],
    503: ['NOT_LEADER', 'STORE_UNAVAILABLE'],
  },
  handle: async ({ commands, reads }, { request, reply, principal, params }) => {
    const body = parseSettlement(request.body);
    if (!body.ok) return sendBodyFaults(reply, 'INVALID_BODY', body.faults);
    const { commandId = '' } = params;
    const found = await readStore(reads.findCommand(principal.accounts, commandId));
    if (found === undefined) return sendMissing(reply, 'COMMAND_NOT_FOUND');
    const word = operatorWord(principal, body.reason, request.id);
    const result = await commands.operator.settle(commandId, body.outcome, word);
    if (result.kind === 'requested') return sendRequested(reply, result.approval);
    return result.kind === 'settled' ? sendCommandState(reply, result.command) : sendDecline(reply, result);
  },
};

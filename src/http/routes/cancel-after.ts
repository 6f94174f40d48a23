import { formatInstant } from '../../domain/instant.ts';
import { cancelAfterBody, parseCancelAfter } from '../../schema/operator-bodies.ts';
import { cancelAfterAnswer } from '../../schema/rest-answers.ts';
import { refuseScope } from '../operator-scope.ts';
import { readStore } from '../read-store.ts';
import type { Route } from '../route.ts';
import { sendJson, sendMissing } from '../send-answer.ts';
import { sendBodyFaults } from '../send-body-faults.ts';
import { sendDecline } from '../send-command.ts';

export const cancelAfter: Route = {
  method: 'POST',
  path: '/v1/cancel-after',
  operationId: 'cancelAfter',
  summary: 'Arm, renew or disarm the dead man’s switch',
  describe:
    'Unless the same principal calls again within `seconds`, every open order of these accounts is cancelled, of whoever placed it, as by a cancel-all. It holds over restarts and takeovers of the service. Each account has a timer for each principal; a call sets those of the accounts that it names.',
  tag: 'operations',
  scopes: ['orders:write'],
  body: cancelAfterBody,
  answers: { 200: { describe: 'As it is set now', schema: cancelAfterAnswer } },
  problems: {
    400: ['INVALID_BODY', 'UNKNOWN_FIELD'],
    403: ['COMMANDS_OFF', 'ACCOUNT_NOT_TRADED'],
    404: ['ACCOUNT_NOT_FOUND'],
    503: ['NOT_LEADER', 'DRAINING', 'STORE_UNAVAILABLE', 'SOURCE_NOT_LIVE'],
  },
  handle: async (parts, { request, reply, principal }) => {
    const body = parseCancelAfter(request.body);
    if (!body.ok) return sendBodyFaults(reply, 'INVALID_BODY', body.faults);
    for (const accountId of body.accountIds ?? []) {
      const refused = refuseScope({ reply, principal }, { kind: 'account', accountId });
      if (refused !== undefined) return refused;
    }
    const followed = body.accountIds ?? (await readStore(parts.reads.accounts(principal.accounts))).map((row) => row.accountId);
    const accountIds = [...new Set(followed)];
    if (accountIds.length === 0) return sendMissing(reply, 'ACCOUNT_NOT_FOUND');
    const afterMs = body.seconds * 1000;
    const result = await parts.commands.cancelAfter({ principal: principal.name, afterMs, accountIds, requestId: request.id });
    if (result.kind === 'declined') return sendDecline(reply, result);
    const firesAt = result.firesAtMs === undefined ? {} : { firesAt: formatInstant(result.firesAtMs) };
    return sendJson(reply, 200, { accountIds: result.accountIds, ...firesAt });
  },
};

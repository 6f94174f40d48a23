import { limitList, limitsBody, parseLimitsChange } from '../../../contract/limit-bodies.ts';
import { formatInstant } from '../../../domain/instant.ts';
import type { LimitRow } from '../../../domain/limits.ts';
import type { AccountScope } from '../../../store/orders/order-reads.ts';
import type { LimitsNow } from '../../commands/commands.ts';
import { operatorWordOf, refuseScope, scopeOfPath } from '../auth/operator-scope.ts';
import { maySee } from '../auth/principal.ts';
import { ofBody, operatorRead, type Route, route } from '../route.ts';
import { sendJson } from '../send-answer.ts';
import { sendNotDone } from '../send-command.ts';
import { requestedAnswer } from './halts.ts';

export const listLimits: Route = {
  ...operatorRead,
  path: '/v1/limits',
  operationId: 'listLimits',
  summary: 'List the limits',
  tag: 'operations',
  answers: {
    200: { describe: 'Those of the accounts of the token, and those that are of no account', schema: limitList },
  },
  handle: async ({ commands }, { reply, principal }) => {
    const result = await commands.operator.limits();
    if (result.kind !== 'done') return sendNotDone(reply, result);
    return sendJson(reply, limitBody(result, principal.accounts));
  },
};

export const changeLimits = route({
  method: 'PATCH',
  path: '/v1/limits',
  operationId: 'changeLimits',
  summary: 'Change the limits of a principal, an account, both, or everyone',
  describe:
    'In force for every command that is journaled once this has answered. Cancels are never limited. The change and its reason are in the audit trail.',
  tag: 'operations',
  scopes: ['ops:write'],
  body: limitsBody,
  parse: parseLimitsChange,
  answers: { 200: { describe: 'The limits now', schema: limitList }, 202: requestedAnswer },
  problems: [...ofBody, 'EVERY_ACCOUNT_NEEDED', 'ACCOUNT_NOT_FOUND', 'TOO_MANY_APPROVALS'],
  // Never forwarded: only the journal has limits, so any process changes them for all. A limit
  // tightened in trouble must not wait for the account's holder: it may be frozen. The price, with
  // four eyes: a process that does not follow the account counts it as real, and may ask for a
  // second principal. Its holder may know that the account is simulated, and would not ask.
  handle: async ({ commands }, call) => {
    const { reply, principal, body } = call;
    const refused = refuseScope(call, scopeOfPath(body.scope));
    if (refused !== undefined) return refused;
    const result = await commands.operator.changeLimits(body.scope, body.change, operatorWordOf(call));
    if (result.kind !== 'done') return sendNotDone(reply, result);
    return sendJson(reply, limitBody(result, principal.accounts));
  },
});

function limitBody({ limits }: LimitsNow, accounts: AccountScope) {
  const isSeen = ({ accountId }: LimitRow) => accountId === undefined || maySee(accounts, accountId);
  return {
    items: limits.filter(isSeen).map(({ changedAtMs, ...row }) => ({ ...row, changedAt: formatInstant(changedAtMs) })),
  };
}

import { parseReason, reasonBody } from '../../../contract/command-bodies.ts';
import { approvalAnswer, approvalList } from '../../../contract/halt-answers.ts';
import type { Approval } from '../../../store/commands/halts-journal.ts';
import type { AccountScope } from '../../../store/orders/order-reads.ts';
import { operatorWordOf } from '../auth/operator-scope.ts';
import { maySee } from '../auth/principal.ts';
import { atHolder, ofBody } from '../problem-codes.ts';
import { type Answer, type Route, route } from '../route.ts';
import { sendJson, sendProblem } from '../send-answer.ts';
import { approvalBody, sendNotDone } from '../send-not-done.ts';

export const listApprovals: Route = {
  method: 'GET',
  path: '/v1/approvals',
  operationId: 'listApprovals',
  summary: 'List what waits for a second principal',
  tag: 'operations',
  scopes: ['ops:read'],
  answers: { 200: { describe: 'What the token may approve, or has asked for, oldest first', schema: approvalList } },
  handle: async ({ commands }, { reply, principal }) => {
    const result = await commands.operator.approvals.list(accountsOf(principal.accounts));
    if (result.kind !== 'done') return sendNotDone(reply, result);
    return sendJson(reply, 200, {
      items: result.approvals.filter((each) => concerns(each, principal.accounts)).map(approvalBody),
    });
  },
};

export const approve = route({
  method: 'POST',
  path: '/v1/approvals/{approvalId}/approve',
  operationId: 'approve',
  summary: 'Approve, as the second principal, what another has asked for, and do it',
  tag: 'operations',
  scopes: ['ops:write'],
  params: { approvalId: 'approvalId' },
  body: reasonBody,
  parse: parseReason,
  answers: { 200: { describe: 'It is done', schema: approvalAnswer } },
  problems: [
    ...ofBody,
    'SECOND_PRINCIPAL_NEEDED',
    'EVERY_ACCOUNT_NEEDED',
    'COMMAND_NOT_FOUND',
    'ALREADY_RESOLVED',
    ...atHolder,
  ],
  handle: async ({ commands, forwarding }, call) => {
    const { reply, principal, params } = call;
    const { approvalId = '' } = params;
    const waiting = await commands.operator.approvals.find(approvalId);
    if (waiting.kind !== 'done') return sendNotDone(reply, waiting);
    const [asked] = waiting.approvals;
    if (asked === undefined || !concerns(asked, principal.accounts)) return sendProblem(reply, 'APPROVAL_NOT_FOUND');
    // Some acts need the holder. One that is declined spends no approval.
    const act = () => commands.operator.approve(approvalId, operatorWordOf(call));
    const result = await forwarding.enter(call, asked.accountId, act);
    if (result.kind !== 'done') return sendNotDone(reply, result);
    return sendJson(reply, 200, { approval: approvalBody(result.approval) });
  },
});

/** The answer when a route's action waits for a second principal. */
export const requestedAnswer: Answer = {
  describe: 'It waits for a second principal (TIDEMARK_FOUR_EYES); nothing was done',
  schema: approvalAnswer,
};

function accountsOf(accounts: AccountScope): readonly string[] | undefined {
  return accounts.kind === 'all' ? undefined : accounts.accountIds;
}

function concerns({ accountId }: Approval, accounts: AccountScope): boolean {
  return accountId === undefined ? accounts.kind === 'all' : maySee(accounts, accountId);
}

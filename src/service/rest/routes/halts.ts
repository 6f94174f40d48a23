import type { FastifyReply } from 'fastify';
import { approvalAnswer, approvalList, haltAnswer, haltList, resumeAnswer } from '../../../contract/halt-answers.ts';
import { formatInstant } from '../../../domain/instant.ts';
import { withDeadline } from '../../../runtime/waiting.ts';
import type { Approval, Halt } from '../../../store/commands/halts-journal.ts';
import type { AccountScope } from '../../../store/orders/order-reads.ts';
import { operatorWordOf, refuseScope, scopeOfPath } from '../auth/operator-scope.ts';
import { maySee } from '../auth/principal.ts';
import {
  type Answer,
  atHolder,
  type Call,
  ofBody,
  operatorAct,
  operatorRead,
  type Route,
  type RouteParts,
  route,
} from '../route.ts';
import { sendJson, sendProblem } from '../send-answer.ts';
import { approvalBody, sendNotDone } from '../send-command.ts';

/** The answer when a route's action waits for a second principal. */
export const requestedAnswer: Answer = {
  describe: 'It waits for a second principal (TIDEMARK_FOUR_EYES); nothing was done',
  schema: approvalAnswer,
};

export const listHalts: Route = {
  ...operatorRead,
  path: '/v1/halts',
  operationId: 'listHalts',
  summary: 'List the halts in force',
  tag: 'operations',
  answers: { 200: { describe: 'Those of the service and of the accounts of the token', schema: haltList } },
  handle: ({ commands }, { reply, principal }) =>
    sendJson(reply, haltBody(commands.operator.halts.list(), principal.accounts)),
};

export const haltAccount = haltRoute(
  'halt',
  '/v1/accounts/{accountId}/halt',
  'haltAccount',
  'Halt placing and replacing on an account',
);
export const resumeAccount = haltRoute(
  'resume',
  '/v1/accounts/{accountId}/resume',
  'resumeAccount',
  'Clear the halts of an account',
);
export const haltService = haltRoute('halt', '/v1/halt', 'haltService', 'Halt placing and replacing everywhere');
export const resumeService = haltRoute('resume', '/v1/resume', 'resumeService', 'Clear the halts of the service');

function haltRoute(verb: 'halt' | 'resume', path: string, operationId: string, summary: string): Route {
  const ofAccount = path.includes('{accountId}');
  return route({
    ...operatorAct,
    path,
    operationId,
    summary,
    describe: 'Cancels pass always. The reason is recorded with who gave it.',
    tag: 'operations',
    answers: {
      ...(verb === 'halt'
        ? { 200: { describe: 'The halts in force now', schema: haltAnswer } }
        : {
            200: { describe: 'The halts that were cleared, and those in force now', schema: resumeAnswer },
            202: requestedAnswer,
          }),
    },
    problems: [
      ...ofBody,
      ...atHolder,
      ...(ofAccount && verb === 'halt' ? [] : (['EVERY_ACCOUNT_NEEDED'] as const)),
      ...(verb === 'resume' ? (['TOO_MANY_APPROVALS'] as const) : []),
    ],
    handle: (parts, call) => haltOrResume(parts, call, verb),
  });
}

async function haltOrResume(
  parts: RouteParts,
  call: Call<unknown, { readonly reason: string }>,
  verb: 'halt' | 'resume',
): Promise<FastifyReply> {
  const { commands, forwarding } = parts;
  const { reply, principal, params } = call;
  const scope = scopeOfPath(params);
  const refused = refuseScope(call, scope);
  if (refused !== undefined) return refused;
  const { accountId } = params;
  // A halt is done here: the holder may be frozen. A resume is done by the holder, and holds there
  // at once.
  const word = operatorWordOf(call);
  const before = commands.operator.halts.list();
  const known = verb === 'halt' && accountId !== undefined ? isKnown(parts, accountId) : undefined;
  const result = await forwarding.enter(call, accountId, () => commands.operator[verb](scope, word));
  if (result.kind !== 'done') return sendNotDone(reply, result);
  const inForce = new Set(result.halts.map(({ haltId }) => haltId));
  const cleared = before.filter(({ haltId }) => !inForce.has(haltId));
  const accountKnown = await known;
  return sendJson(reply, {
    ...haltBody(result.halts, principal.accounts),
    ...(verb === 'resume' ? { cleared: haltBody(cleared, principal.accounts).halts } : { accountKnown }),
  });
}

/**
 * Whether any process ever followed the account: the database has a row of each. One that it lacks
 * may be listed later, so it is halted like any other, and the answer says so. Undefined: the
 * database did not say in time. Asked beside the halt, which does not wait for it. Never rejects.
 */
function isKnown({ reads, accountStates, clock }: RouteParts, accountId: string): Promise<boolean | undefined> {
  if (accountStates()?.some((each) => each.accountId === accountId)) return Promise.resolve(true);
  return withDeadline(
    clock,
    1_000,
    'whether the account is known',
    reads.accounts({ kind: 'accounts', accountIds: [accountId] }),
  ).then(
    ({ items }) => items.length > 0,
    () => undefined,
  );
}

/** Halts in force on the service, and on the accounts that the caller may see. */
function haltBody(halts: readonly Halt[], accounts: AccountScope) {
  const seen = halts.filter(({ scope }) => scope.kind === 'service' || maySee(accounts, scope.accountId));
  return {
    halts: seen.map(({ haltId, scope, cause, reason, by, sinceMs }) => ({
      haltId,
      scope,
      cause,
      reason,
      by,
      since: formatInstant(sinceMs),
    })),
  };
}

export const listApprovals: Route = {
  ...operatorRead,
  path: '/v1/approvals',
  operationId: 'listApprovals',
  summary: 'List what waits for a second principal',
  tag: 'operations',
  answers: { 200: { describe: 'What the token may approve, or has asked for, oldest first', schema: approvalList } },
  handle: async ({ commands }, { reply, principal }) => {
    const result = await commands.operator.approvals.list(accountsOf(principal.accounts));
    if (result.kind !== 'done') return sendNotDone(reply, result);
    return sendJson(reply, {
      items: result.approvals.filter((each) => concerns(each, principal.accounts)).map(approvalBody),
    });
  },
};

export const approve = route({
  ...operatorAct,
  path: '/v1/approvals/{approvalId}/approve',
  operationId: 'approve',
  summary: 'Approve, as the second principal, what another has asked for, and do it',
  tag: 'operations',
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
    return sendJson(reply, { approval: approvalBody(result.approval) });
  },
});

function accountsOf(accounts: AccountScope): readonly string[] | undefined {
  return accounts.kind === 'all' ? undefined : accounts.accountIds;
}

function concerns({ accountId }: Approval, accounts: AccountScope): boolean {
  return accountId === undefined ? accounts.kind === 'all' : maySee(accounts, accountId);
}

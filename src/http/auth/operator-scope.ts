import type { FastifyReply } from 'fastify';
import type { OperatorWord } from '../../commands/commands.ts';
import type { Halt } from '../../store/command-journal.ts';
import type { Call } from '../route.ts';
import { sendMissing, sendProblem } from '../send-answer.ts';
import { maySee, type Principal } from './principal.ts';

/** What an operator acts on: the account of the path, or the service. */
export function scopeOfPath({ accountId }: Readonly<Record<string, string>>): Halt['scope'] {
  return accountId === undefined ? { kind: 'service' } : { kind: 'account', accountId };
}

/** What an operator says, with whether the token is for every account. */
export function operatorWord({ name, accounts }: Principal, reason: string, requestId: string): OperatorWord {
  return { by: name, reason, requestId, ...(accounts.kind === 'accounts' && { ofSomeAccounts: true }) };
}

/** Undefined: it may. The service is every account: a token that names only some moves none of the others. */
export function refuseScope(call: Pick<Call, 'reply' | 'principal'>, scope: Halt['scope']): FastifyReply | undefined {
  const { reply, principal } = call;
  const { accounts } = principal;
  if (scope.kind === 'account' ? maySee(accounts, scope.accountId) : accounts.kind === 'all') return undefined;
  if (scope.kind === 'account') return sendMissing(reply, 'ACCOUNT_NOT_FOUND');
  return sendProblem(reply, 403, 'EVERY_ACCOUNT_NEEDED', 'this concerns every account, and the token names only some');
}

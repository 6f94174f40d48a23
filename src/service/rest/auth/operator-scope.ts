import type { FastifyReply } from 'fastify';
import type { Halt } from '../../../store/commands/halts-journal.ts';
import type { OperatorWord } from '../../commands/commands.ts';
import type { Call } from '../route.ts';
import { sendProblem } from '../send-answer.ts';
import { maySee } from './principal.ts';

/** The scope that an operator acts on: the path's account, or the service. */
export function scopeOfPath({ accountId }: { readonly accountId?: string | undefined }): Halt['scope'] {
  return accountId === undefined ? { kind: 'service' } : { kind: 'account', accountId };
}

/** The caller's name and reason. */
export function wordOf({ principal, body, request }: Pick<Call<unknown, Reasoned>, 'principal' | 'body' | 'request'>) {
  return { by: principal.name, reason: body.reason, requestId: request.id };
}

interface Reasoned {
  readonly reason: string;
}

/** The same, and whether its token names only some accounts. */
export function operatorWordOf(call: Parameters<typeof wordOf>[0]): OperatorWord {
  return { ...wordOf(call), ...(call.principal.accounts.kind === 'accounts' && { ofSomeAccounts: true }) };
}

/**
 * Undefined: the caller may act on it. The service is every account, so a token for only some may
 * not act on it.
 */
export function refuseScope(
  { reply, principal: { accounts } }: Pick<Call, 'reply' | 'principal'>,
  scope: Halt['scope'],
): FastifyReply | undefined {
  if (scope.kind === 'account' ? maySee(accounts, scope.accountId) : accounts.kind === 'all') return undefined;
  if (scope.kind === 'account') return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
  return sendProblem(reply, 'EVERY_ACCOUNT_NEEDED');
}

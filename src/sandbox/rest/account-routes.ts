import type { FastifyInstance } from 'fastify';
import { accountsPath, type UserAccount } from '../../platform/wire/accounts.ts';
import type { ExchangeAccount } from '../exchange/exchange-account.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { requireScope } from './require-scope.ts';

/** `GET /v2/users/me/accounts` (specification, "Users and settings"). */
export function accountRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get(accountsPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'account:information', 'flat');
    if (principal === undefined) return reply;
    return { accounts: parts.directory.accountsOf(principal).map(accountItem) };
  });
}

function accountItem(account: ExchangeAccount): UserAccount {
  return {
    trading_account_id: account.id,
    broker_account_id: '',
    status: account.status,
    is_sim: true,
    account_type: 'INDIVIDUAL',
    account_class: 'MARGIN',
  };
}

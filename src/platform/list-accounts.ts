import type { AccountsResult } from './order-reads.ts';
import { type ReadDeps, readPlatform } from './read-platform.ts';
import { accountsPath, userAccounts } from './wire/accounts.ts';

/** The accounts that the token may see (specification, "GET /v2/users/me/accounts"). Every status but `OPEN` counts as closed. */
export async function listAccounts(deps: ReadDeps, baseUrl: string, signal: AbortSignal): Promise<AccountsResult> {
  const answer = await readPlatform(deps, 'list_accounts', `${baseUrl}${accountsPath}`, signal);
  if (!answer.ok) return { complete: false, error: answer.error };
  const body = userAccounts.safeParse(answer.value);
  if (!body.success) {
    const message = 'the accounts have another shape than the specification says';
    return { complete: false, error: { status: 200, code: 'BAD_ANSWER', message, retryable: true, sent: 'yes' } };
  }
  const accounts = body.data.accounts.map((account) => ({
    accountId: account.trading_account_id,
    isOpen: account.status.toUpperCase() === 'OPEN',
    isSim: account.is_sim,
  }));
  return { complete: true, accounts };
}

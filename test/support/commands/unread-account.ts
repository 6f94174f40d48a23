import type { AccountRecord } from '../../../src/store/fleet/account-registry.ts';

/** A simulated account that no read has completed yet, as it is stored at first sight. */
export function unreadAccount(accountId: string, over: Partial<AccountRecord> = {}): AccountRecord {
  const never = { sourceEpoch: 0, readUpTo: undefined, auditedUpTo: undefined };
  return { stream: 'account', accountId, isSim: true, ...never, ...over };
}

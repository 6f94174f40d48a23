import type { AccountAccess } from '../../connectors/account-access.ts';
import type { Stream } from '../../domain/order.ts';
import type { TokenSource } from '../../platform/token-source.ts';

/** What the command side needs of the accounts that we follow. */
export interface EntryAccounts {
  /** Every credential has listed its accounts since the lane is ours: before, an account that is not followed may yet be. */
  readonly hasListed: boolean;
  /** Tokens of the credential that follows the account; undefined where none does, and while the lane is not held. */
  tokensFor(accountId: string): TokenSource | undefined;
  /** The account on one stream; undefined where it is not followed. */
  account(stream: Stream, accountId: string): AccountAccess | undefined;
}

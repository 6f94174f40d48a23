import type { AccountScope } from '../../../store/orders/order-reads.ts';

/** The rights of callers. None includes another: a token lists each one that it has. */
export const scopes = ['orders:read', 'orders:write', 'ops:read', 'ops:write'] as const;
export type Scope = (typeof scopes)[number];

/** The caller, and the rights that its token gives. */
export interface Principal {
  /**
   * The stable id of the caller, used in the journal, the audit trail and the logs. Idempotency
   * keys and references belong to the name, so all tokens of one name share them, later ones too.
   * Names of JWTs begin with `jwt:`; names of another kind may not.
   */
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The accounts whose orders it may see and change. Passed to every read unchanged. */
  readonly accounts: AccountScope;
  /**
   * Of the token of the database that it came with: what it asks for
   * is not sent any more once that has ended.
   */
  readonly tokenNumber?: number;
}

/** `granted` may contain unknown words: they grant nothing. */
export function principalOf(
  name: string,
  granted: readonly string[],
  accounts: 'all' | readonly string[],
  tokenNumber?: number,
): Principal {
  return {
    name,
    scopes: new Set(scopes.filter((scope) => granted.includes(scope))),
    accounts: accounts === 'all' ? { kind: 'all' } : { kind: 'accounts', accountIds: [...accounts] },
    ...(tokenNumber !== undefined && { tokenNumber }),
  };
}

/** All rights, for callers of a port that only this machine can reach. */
export const loopbackPrincipal = principalOf('loopback', scopes, 'all');

export function maySee(accounts: AccountScope, accountId: string): boolean {
  return accounts.kind === 'all' || accounts.accountIds.includes(accountId);
}

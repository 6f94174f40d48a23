import type { AccountScope } from '../../store/order-reads.ts';

/** What a caller may do. None includes another: a token says each that it has. */
export const scopes = ['orders:read', 'orders:write', 'ops:read', 'ops:write'] as const;
export type Scope = (typeof scopes)[number];

/** Who calls, and what its token lets it do. */
export interface Principal {
  /**
   * The stable id of the caller: in the journal, the audit trail and the logs. Idempotency keys and references are the name's, so all tokens of one name share them,
   * those that come later too. Names of JWTs begin with `jwt:`, which no other kind may.
   */
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Whose orders it may see and move: handed to every read as it is. */
  readonly accounts: AccountScope;
}

/** `granted` may hold words that we don't know: they grant nothing. */
export function principalOf(name: string, granted: readonly string[], accounts: 'all' | readonly string[]): Principal {
  return {
    name,
    scopes: new Set(scopes.filter((scope) => granted.includes(scope))),
    accounts: accounts === 'all' ? { kind: 'all' } : { kind: 'accounts', accountIds: [...accounts] },
  };
}

/** Everything, for who reaches a port that only this machine can reach. */
export const loopbackPrincipal = principalOf('loopback', scopes, 'all');

export function maySee(accounts: AccountScope, accountId: string): boolean {
  return accounts.kind === 'all' || accounts.accountIds.includes(accountId);
}

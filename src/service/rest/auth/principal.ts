import { present } from '../../../domain/present.ts';
import type { AccountScope } from '../../../store/orders/order-reads.ts';

/** Callers' rights. None includes another: a token lists each one that it has. */
export const scopes = ['orders:read', 'orders:write', 'ops:read', 'ops:write'] as const;
export type Scope = (typeof scopes)[number];

/** The caller, and its token's rights. */
export interface Principal {
  /**
   * The caller's stable id, used in the journal, the audit trail and the logs. Idempotency keys and
   * references belong to the name, so all tokens with one name share them, later ones too. JWTs'
   * names begin with `jwt:`; other kinds of names may not.
   */
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** It may see and change these accounts' orders. Passed to every read unchanged. */
  readonly accounts: AccountScope;
  /** Its database token's number. Once the token has ended, nothing from it is sent any more. */
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
    ...present({ tokenNumber }),
  };
}

export const authFailures = ['missing', 'malformed', 'unknown_token', 'expired', 'claims', 'signature'] as const;

export type AuthResult =
  | { readonly kind: 'principal'; readonly principal: Principal }
  | { readonly kind: 'refused'; readonly reason: (typeof authFailures)[number]; readonly why?: Why }
  /** Can't be decided now: the issuer's keys can't be read. */
  | { readonly kind: 'unavailable' };

/** Of a JWT: the claim, the value found in it, and the expected value. */
export interface Why {
  readonly claim: string;
  readonly found: unknown;
  readonly expected: unknown;
}

/** All rights, for callers on a port that only this machine can reach. */
export const loopbackPrincipal = principalOf('loopback', scopes, 'all');

export function maySee(accounts: AccountScope, accountId: string): boolean {
  return accounts.kind === 'all' || accounts.accountIds.includes(accountId);
}

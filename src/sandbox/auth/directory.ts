import type { Secret } from '../../runtime/secret.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeAccount } from '../exchange/exchange-order.ts';

/** A person who can sign in and owns accounts. */
interface SandboxUser {
  readonly username: string;
  readonly password: Secret;
  /** The 6-digit code for this user's verification; null without MFA. */
  readonly mfa: string | null;
}

/** An app registered in the client center. */
export interface SandboxClient {
  readonly clientId: string;
  /** Absent: a public client, which may use PKCE only. */
  readonly clientSecret?: Secret;
  readonly redirectUris: readonly string[];
  readonly scopes: readonly string[];
  /** A client-credentials token of this client sees these users' accounts. */
  readonly users: readonly string[];
}

/** Who acts: the subject of a token. */
export interface Principal {
  readonly clientId: string;
  /** The user who signed in; undefined for client credentials. */
  readonly username?: string;
  readonly scopes: ReadonlySet<string>;
  /** The user's consent behind it; undefined for client credentials. */
  readonly loginId?: string;
  /** The token's own id, and when it ends (milliseconds since the epoch). */
  readonly tokenId: string;
  readonly expiresAtMs: number;
}

/** An account's relation to a user: `unknown` there is none, `foreign` it is another's. */
type AccountAccess =
  | { readonly access: 'granted'; readonly account: ExchangeAccount }
  | { readonly access: 'foreign' }
  | { readonly access: 'unknown' };

/** Users, clients, and who may see which account. */
export class Directory {
  readonly users = new Map<string, SandboxUser>();
  readonly clients = new Map<string, SandboxClient>();
  private readonly exchange: Exchange;

  constructor(exchange: Exchange) {
    this.exchange = exchange;
  }

  accountsOf(principal: Principal): ExchangeAccount[] {
    return [...this.exchange.accounts.values()].filter((account) => this.sees(principal, account));
  }

  accountFor(principal: Principal, accountId: string): AccountAccess {
    const account = this.exchange.accounts.get(accountId);
    if (account === undefined) return { access: 'unknown' };
    return this.sees(principal, account) ? { access: 'granted', account } : { access: 'foreign' };
  }

  private sees(principal: Principal, account: ExchangeAccount): boolean {
    if (principal.username !== undefined) return account.owner === principal.username;
    return this.clients.get(principal.clientId)?.users.includes(account.owner) ?? false;
  }
}

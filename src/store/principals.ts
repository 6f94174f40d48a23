import type { Pool } from 'pg';
import type { PrincipalStore, StoredPrincipal } from '../http/auth/principal-store.ts';
import { type RetryDeps, retryTransaction } from './retry-transaction.ts';

const mostActive = 10_000;

/** The port `PrincipalStore` in Postgres. Tokens themselves are never here. */
export class PostgresPrincipalStore implements PrincipalStore {
  private readonly deps: RetryDeps & { readonly pool: Pool };

  constructor(deps: RetryDeps & { readonly pool: Pool }) {
    this.deps = deps;
  }

  async active(): Promise<readonly StoredPrincipal[]> {
    const { rows } = await retryTransaction(this.deps, () =>
      this.deps.pool.query<{ name: string; sha256: string; scopes: string[]; accounts: string[] | null }>(
        `select name, encode(token_sha256, 'hex') as sha256, scopes, accounts from public.principals
         where revoked_at is null order by name limit $1`,
        [mostActive],
      ),
    );
    return rows.map(({ name, sha256, scopes, accounts }) => ({ name, sha256, scopes, accounts: accounts ?? 'all' }));
  }

  /** False: the name or the token is there already, revoked or not. */
  async add({ name, sha256, scopes, accounts }: StoredPrincipal): Promise<boolean> {
    const { rowCount } = await this.deps.pool.query(
      `insert into public.principals (name, token_sha256, scopes, accounts) values ($1, decode($2, 'hex'), $3, $4) on conflict do nothing`,
      [name, sha256, scopes, accounts === 'all' ? null : accounts],
    );
    return rowCount === 1;
  }

  /** For good: a name is not given twice. False: there is none, or it was revoked before. */
  async revoke(name: string): Promise<boolean> {
    const { rowCount } = await this.deps.pool.query(
      'update public.principals set revoked_at = now() where name = $1 and revoked_at is null',
      [name],
    );
    return rowCount === 1;
  }
}

import type { Pool } from 'pg';
import type { CredentialList, StoredCredential } from '../platform/token-store.ts';
import { type RetryDeps, retryTransaction } from './retry-transaction.ts';

export interface CredentialListDeps extends RetryDeps {
  readonly pool: Pool;
}

/** The port `CredentialList` in Postgres. To list and to forget needs no key: tokens are told apart by the name of their credential, and stay sealed. */
export class PostgresCredentialList implements CredentialList {
  protected readonly deps: CredentialListDeps;

  constructor(deps: CredentialListDeps) {
    this.deps = deps;
  }

  async stored(prefix: string): Promise<StoredCredential[]> {
    const { rows } = await retryTransaction(this.deps, () =>
      this.deps.pool.query<{ credential: string; generation: string }>(
        'select credential, generation from public.credentials where sealed is not null and starts_with(credential, $1) order by credential',
        [prefix],
      ),
    );
    return rows.map(({ credential, generation }) => ({ credential, generation: Number(generation) }));
  }

  /** The row stays, for whoever holds the claim; generation 0 makes every save that is under way come too late. */
  forget(credential: string): Promise<boolean> {
    return this.changes(
      'update public.credentials set sealed = null, generation = 0, updated_at = now() where credential = $1 and sealed is not null',
      [credential],
    );
  }

  protected async changes(text: string, values: unknown[]): Promise<boolean> {
    const { rowCount } = await retryTransaction(this.deps, () => this.deps.pool.query(text, values));
    return rowCount === 1;
  }
}

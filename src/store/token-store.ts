import type { StoredToken, Token, TokenStore, UnreadableToken } from '../platform/token-store.ts';
import { Secret } from '../runtime/secret.ts';
import { type CredentialListDeps, PostgresCredentialList } from './credential-list.ts';
import { SealError, seal, unseal } from './encrypt.ts';
import { retryTransaction } from './retry-transaction.ts';

interface Sealed {
  readonly accessToken: string;
  readonly expiresAtMs: number;
  readonly refreshToken?: string;
  readonly scope?: string;
}

export interface TokenStoreDeps extends CredentialListDeps {
  /** 32 bytes in base64. */
  readonly key: Secret;
}

/**
 * The port `TokenStore` in Postgres, and with it the list of what it holds. Every call is one statement: a claim is a name and an instant in the row, never a lock held while somebody else answers.
 * Tokens are sealed for their credential and generation; a row that another key sealed is an `UnreadableToken`.
 */
export class PostgresTokenStore extends PostgresCredentialList implements TokenStore {
  private readonly key: Secret;

  constructor(deps: TokenStoreDeps) {
    super(deps);
    this.key = deps.key;
  }

  claim(credential: string, holder: string, forMs: number): Promise<boolean> {
    return this.changes(
      `insert into public.credentials as c (credential, claimed_by, claimed_until)
       values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
       on conflict (credential) do update set claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until, updated_at = now()
       where c.claimed_by is null or c.claimed_by = excluded.claimed_by or c.claimed_until < clock_timestamp()`,
      [credential, holder, forMs],
    );
  }

  async unclaim(credential: string, holder: string): Promise<void> {
    await this.changes(
      'update public.credentials set claimed_by = null, claimed_until = null where credential = $1 and claimed_by = $2',
      [credential, holder],
    );
  }

  async load(credential: string): Promise<StoredToken | UnreadableToken | undefined> {
    const { pool } = this.deps;
    const { rows } = await retryTransaction(this.deps, () =>
      pool.query<{ generation: string; sealed: Buffer }>(
        'select generation, sealed from public.credentials where credential = $1 and sealed is not null',
        [credential],
      ),
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    const generation = Number(row.generation);
    const text = unsealed(this.key, placeOf(credential, generation), row.sealed);
    if (text instanceof SealError) return { generation, unreadable: text.message };
    const token = JSON.parse(text) as Sealed;
    return {
      generation,
      accessToken: new Secret(token.accessToken),
      expiresAtMs: token.expiresAtMs,
      ...(token.refreshToken === undefined ? {} : { refreshToken: new Secret(token.refreshToken) }),
      ...(token.scope === undefined ? {} : { scope: token.scope }),
    };
  }

  save(credential: string, replaces: number, token: Token): Promise<boolean> {
    const plain: Sealed = {
      accessToken: token.accessToken.reveal(),
      expiresAtMs: token.expiresAtMs,
      ...(token.refreshToken === undefined ? {} : { refreshToken: token.refreshToken.reveal() }),
      ...(token.scope === undefined ? {} : { scope: token.scope }),
    };
    const generation = replaces + 1;
    const sealed = seal(this.key, placeOf(credential, generation), JSON.stringify(plain));
    // A try whose answer was lost finds its own row: equal bytes (the nonce makes them ours alone) are this very save.
    return this.changes(
      `insert into public.credentials as c (credential, generation, sealed)
       select $1::text, $2::bigint, $3::bytea where $2 = 1 or exists (select from public.credentials where credential = $1)
       on conflict (credential) do update set generation = excluded.generation, sealed = excluded.sealed, updated_at = now()
       where c.generation = excluded.generation - 1 or c.sealed = excluded.sealed`,
      [credential, generation, sealed],
    );
  }
}

/** The text, or the error that says that it was not sealed with this key. A key that is none is a fault of the settings, and is thrown. */
function unsealed(key: Secret, place: string, sealed: Buffer): string | SealError {
  try {
    return unseal(key, place, sealed);
  } catch (error) {
    if (error instanceof SealError && error.code === 'UNREADABLE') return error;
    throw error;
  }
}

function placeOf(credential: string, generation: number): string {
  return `${credential}/${generation}`;
}

import type { Pool } from 'pg';
import { type RetryDeps, retryTransaction } from './retry-transaction.ts';

/**
 * A static token of a principal, by its hash. A principal has as many as it needs, so that one can follow another without a gap; its idempotency keys belong to
 * its name.
 */
export interface PrincipalToken {
  /** The name of the principal. */
  readonly name: string;
  /** SHA-256 of the token, 64 hexadecimal digits in lower case. */
  readonly sha256: string;
  readonly scopes: readonly string[];
  readonly accounts: 'all' | readonly string[];
  /** Wall time from which the token is refused. Absent: it has no end. */
  readonly expiresAtMs?: number;
}

/**
 * Static tokens that are kept in the database. All are read together at intervals, never for a request: otherwise a caller that guesses tokens could make us
 * ask the database without limit.
 */
export interface PrincipalStore {
  /** All tokens that have not ended, at most 10,000. Has a deadline; rejects when the database can't be reached. */
  active(): Promise<readonly PrincipalToken[]>;
}

const mostActive = 10_000;

/** A token with its number among those of its principal: 1, 2, 3 … */
export interface NumberedToken extends PrincipalToken {
  readonly number: number;
}

interface Row {
  readonly principal: string;
  readonly number: number;
  readonly sha256: string;
  readonly scopes: string[];
  readonly accounts: string[] | null;
  readonly expires_ms: string | null;
}

const columns = `principal, number, encode(token_sha256, 'hex') as sha256, scopes, accounts, public.time_to_ms(expires_at)::text as expires_ms`;

/** The port `PrincipalStore` in Postgres, and the operations of people on tokens. Tokens themselves are never here. */
export class PostgresPrincipalStore implements PrincipalStore {
  private readonly deps: RetryDeps & { readonly pool: Pool };

  constructor(deps: RetryDeps & { readonly pool: Pool }) {
    this.deps = deps;
  }

  active(): Promise<readonly NumberedToken[]> {
    return this.read(`where expires_at is null or expires_at > now() order by principal, number limit $1`, mostActive);
  }

  /** All that the principal ever had, oldest first: none of them is ever deleted. */
  tokensOf(principal: string): Promise<readonly NumberedToken[]> {
    return this.read('where principal = $1 order by number', principal);
  }

  /** False: the principal has a token of this number, or the hash is there already. */
  async add({ name, number, sha256, scopes, accounts, expiresAtMs }: NumberedToken): Promise<boolean> {
    const { rowCount } = await this.deps.pool.query(
      `insert into public.principal_tokens (principal, number, token_sha256, scopes, accounts, expires_at)
       values ($1, $2, decode($3, 'hex'), $4, $5, public.ms_to_time($6)) on conflict do nothing`,
      [name, number, sha256, scopes, accounts === 'all' ? null : accounts, expiresAtMs ?? null],
    );
    return rowCount === 1;
  }

  /**
   * Ends tokens of the principal after `inMs`, by the database's clock, for good: all of them, or the one of this number. Returns the numbers of the tokens
   * that would have lasted longer.
   */
  async end(principal: string, number: number | undefined, inMs: number): Promise<number[]> {
    const { rows } = await this.deps.pool.query<{ number: number }>(
      `update public.principal_tokens set expires_at = now() + $3 * interval '1 millisecond'
       where principal = $1 and ($2::integer is null or number = $2)
         and (expires_at is null or (expires_at > now() and expires_at > now() + $3 * interval '1 millisecond'))
       returning number`,
      [principal, number ?? null, inMs],
    );
    return rows.map((row) => row.number).sort((a, b) => a - b);
  }

  private async read(where: string, value: unknown): Promise<NumberedToken[]> {
    const { rows } = await retryTransaction(this.deps, () =>
      this.deps.pool.query<Row>(`select ${columns} from public.principal_tokens ${where}`, [value]),
    );
    return rows.map(({ principal, number, sha256, scopes, accounts, expires_ms }) => ({
      ...{ name: principal, number, sha256, scopes, accounts: accounts ?? 'all' },
      ...(expires_ms !== null && { expiresAtMs: Number(expires_ms) }),
    }));
  }
}

import type { Act, CommitCheckpoint } from '../runtime/lease.ts';
import { asc, type Database, drizzle, eq, gt, isNull, or, sql } from './drizzle.ts';
import { principalTokens } from './schema/principals.ts';
import { type PoolDeps, retryTransaction } from './session/retry-transaction.ts';

/**
 * A principal's static token, by its hash. A principal has as many as it needs, so one can follow
 * another without a gap. Its idempotency keys belong to its name.
 */
export interface PrincipalToken {
  /** The principal's name. */
  readonly name: string;
  /** For a token in the database: 1, 2, 3 … among its principal's tokens. */
  readonly number?: number;
  /** SHA-256 of the token, 64 hexadecimal digits in lower case. */
  readonly sha256: string;
  readonly scopes: readonly string[];
  readonly accounts: 'all' | readonly string[];
  /** From this wall time on the token is refused. Absent: it has no end. */
  readonly expiresAtMs?: number;
}

/**
 * Static tokens kept in the database. All are read together at intervals, never for a request.
 * Otherwise a caller that guesses tokens could make us ask the database without limit.
 */
export interface PrincipalStore {
  /**
   * All tokens that have not ended, at most 10,000. Has a deadline; rejects when the database can't
   * be reached.
   */
  active(): Promise<readonly PrincipalToken[]>;
  /**
   * The token was given an end, or an earlier one, while this process looked. Left out: no process
   * remembers it.
   */
  sawEnd?(token: PrincipalToken, endsAtMs: number): void;
  /**
   * Ends the token then at the latest, as it was before the database lost that. Rejects when it
   * can't be reached. Left out: it can't be written.
   */
  endAgain?(token: PrincipalToken, endsAtMs: number): Promise<void>;
}

export const mostActive = 10_000;

/** A token in the database. */
export interface NumberedToken extends PrincipalToken {
  readonly number: number;
}

interface PrincipalStoreDeps extends PoolDeps {
  /** Remembers a token's end, so its loss is noticed. */
  readonly checkpoint?: CommitCheckpoint;
  /**
   * Begins a generation where the database lacks an end that it had acknowledged. Left out: it is
   * only written again.
   */
  readonly noticeLost?: (act: Act) => Promise<void>;
}

/**
 * The port `PrincipalStore` in Postgres, and people's operations on tokens. The tokens themselves
 * are never here.
 */
export class PostgresPrincipalStore implements PrincipalStore {
  private readonly deps: PrincipalStoreDeps;
  private readonly db: Database;

  constructor(deps: PrincipalStoreDeps) {
    this.deps = deps;
    this.db = drizzle(deps.pool);
  }

  active(): Promise<readonly NumberedToken[]> {
    const { principal, number, expiresAt } = principalTokens;
    return retryTransaction(this.deps, async () => {
      const lasting = or(isNull(expiresAt), gt(expiresAt, sql`now()`));
      const rows = await this.db
        .select()
        .from(principalTokens)
        .where(lasting)
        .orderBy(asc(principal), asc(number))
        .limit(mostActive);
      return rows.map(toToken);
    });
  }

  sawEnd({ name, number }: PrincipalToken, endsAtMs: number): void {
    if (number !== undefined) this.deps.checkpoint?.saw(['token_end', name, number, endsAtMs]);
  }

  async endAgain({ name, number }: PrincipalToken, endsAtMs: number): Promise<void> {
    if (number === undefined) return;
    await this.deps.noticeLost?.(['token_end', name, number, endsAtMs]);
    await this.deps.pool.query('select public.end_token_again($1, $2, $3)', [name, number, endsAtMs]);
  }

  /** All the principal ever had, oldest first: none is ever deleted. */
  tokensOf(name: string): Promise<readonly NumberedToken[]> {
    const { principal, number } = principalTokens;
    return retryTransaction(this.deps, async () => {
      const rows = await this.db.select().from(principalTokens).where(eq(principal, name)).orderBy(asc(number));
      return rows.map(toToken);
    });
  }

  /** False: the principal has a token with this number, or the hash is there already. */
  async add({ name, number, sha256, scopes, accounts, expiresAtMs }: NumberedToken): Promise<boolean> {
    // Raw: if a constraint refuses a value, the caller must get the database's own error. The query
    // builder would wrap it.
    const { rowCount } = await this.deps.pool.query(
      `insert into public.principal_tokens (principal, number, token_sha256, scopes, accounts, expires_at)
       values ($1, $2, decode($3, 'hex'), $4, $5, public.ms_to_time($6)) on conflict do nothing`,
      [name, number, sha256, scopes, accounts === 'all' ? null : accounts, expiresAtMs ?? null],
    );
    return rowCount === 1;
  }

  /**
   * Ends the principal's tokens after `inMs`, by the database's clock, for good: all, or the one
   * with this number. Returns the numbers of the tokens that would have lasted longer.
   */
  async end(name: string, number: number | undefined, inMs: number): Promise<number[]> {
    // Raw: `close_sending` comes last, once all rows are had, since nothing may wait for a row
    // behind it. It is held until the commit: after it, no attempt is marked as being sent for the
    // token (`sending_objection`).
    const { rows } = await this.deps.pool.query<{ numbers: number[] }>(
      `with ended as (
         update public.principal_tokens set expires_at = now() + $3 * interval '1 millisecond'
         where principal = $1 and ($2::integer is null or number = $2)
           and (expires_at is null or expires_at > now() and expires_at > now() + $3 * interval '1 millisecond')
         returning number
       )
       select coalesce(array_agg(number order by number), '{}') as numbers, public.close_sending()::text from ended`,
      [name, number ?? null, inMs],
    );
    return rows[0]?.numbers ?? [];
  }
}

function toToken({
  principal,
  number,
  tokenSha256,
  scopes,
  accounts,
  expiresAt,
}: typeof principalTokens.$inferSelect): NumberedToken {
  return {
    ...{ name: principal, number, sha256: tokenSha256.toString('hex'), scopes, accounts: accounts ?? 'all' },
    ...(expiresAt !== null && { expiresAtMs: expiresAt.getTime() }),
  };
}

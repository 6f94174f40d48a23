/** A static token of a principal, by its hash. A principal has as many as it needs, so that one can follow another without a gap; what it owns (its idempotency keys) is the name's. */
export interface PrincipalToken {
  /** The name of the principal. */
  readonly name: string;
  /** SHA-256 of the token, 64 hexadecimal digits in lower case. */
  readonly sha256: string;
  readonly scopes: readonly string[];
  readonly accounts: 'all' | readonly string[];
  /** Wall time from which it is refused. Absent: it has no end. */
  readonly expiresAtMs?: number;
}

/**
 * Static tokens that are kept in the database. They are read as a whole and by time, never for a request: a caller that guesses tokens would otherwise make us
 * ask the database as often as it pleases.
 */
export interface PrincipalStore {
  /** All that have not ended, at most 10,000. Has a deadline; rejects when the database can't be reached. */
  active(): Promise<readonly PrincipalToken[]>;
}

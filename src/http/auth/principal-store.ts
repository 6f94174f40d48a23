/** A token that somebody made for a service, by its hash. */
export interface StoredPrincipal {
  /** The name of the principal. */
  readonly name: string;
  /** SHA-256 of the token, 64 hexadecimal digits in lower case. */
  readonly sha256: string;
  readonly scopes: readonly string[];
  readonly accounts: 'all' | readonly string[];
}

/**
 * Static tokens that are kept in the database. They are read as a whole and by time, never for a request: who guesses tokens would otherwise make us ask the
 * database as often as they please.
 */
export interface PrincipalStore {
  /** All that are not revoked, at most 10,000. Has a deadline; rejects when the database can't be reached. */
  active(): Promise<readonly StoredPrincipal[]>;
}

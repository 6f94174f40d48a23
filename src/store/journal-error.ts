/**
 * Why the journal could not do what it was asked. `COMMIT_UNKNOWN`: the connection broke or the deadline passed after the statement was sent; it may have
 * committed, or may yet. `STORE_UNAVAILABLE`: nothing was sent. `FENCED`: a later holder has taken over. `NO_SUCH_COMMAND`. Else the database's SQLSTATE: rolled
 * back for certain. `retryable`: nothing happened, and the same call is likely to pass.
 */
export class JournalError extends Error {
  readonly code: string;
  readonly retryable: boolean;

  constructor(code: string, retryable: boolean, cause: unknown) {
    super(`the journal answered ${code}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'JournalError';
    this.code = code;
    this.retryable = retryable;
  }
}

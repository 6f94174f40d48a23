/** The database can't be reached, or did not answer in time. */
export class StoreUnavailableError extends Error {
  readonly code = 'STORE_UNAVAILABLE';
  readonly retryable = true;

  constructor(cause: unknown) {
    super('the database did not answer', { cause });
    this.name = 'StoreUnavailableError';
  }
}

/** A read of the port `OrderReads`, which rejects for one reason only. Answered as 503, so that callers tell it from a fault of ours. */
export function readStore<T>(read: Promise<T>): Promise<T> {
  return read.catch((error: unknown) => {
    throw new StoreUnavailableError(error);
  });
}

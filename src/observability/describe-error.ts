export interface ErrorDescription {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly retryable?: boolean;
  readonly stack?: string;
  readonly cause?: ErrorDescription;
}

const deepest = 5;

/**
 * An error as it is logged: type, message, code, stack and causes. Every other property stays out, since errors of clients carry
 * requests, headers and parameters with them.
 */
export function describeError(error: unknown, depth = 0): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const code =
    'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? String(error.code) : undefined;
  const retryable = 'retryable' in error && typeof error.retryable === 'boolean' ? error.retryable : undefined;
  const cause = error instanceof AggregateError ? (error.errors[0] ?? error.cause) : error.cause;
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(retryable === undefined ? {} : { retryable }),
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    ...(cause === undefined || depth >= deepest ? {} : { cause: describeError(cause, depth + 1) }),
  };
}

/** A request that was refused before its handler was reached. The message is for the caller: no input, nothing from inside. */
export class RequestError extends Error {
  readonly code: string;
  readonly statusCode: number;
  readonly retryable = false;

  constructor(statusCode: number, code: string, message: string) {
    super(message);
    this.name = 'RequestError';
    this.statusCode = statusCode;
    this.code = code;
  }
}

import type { PlatformError } from '../platform/platform-error.ts';

/** Why a read of ours proves nothing, beside what the platform itself answered. Each may be made again. */

export const givenUp: PlatformError = {
  code: 'NO_ANSWER',
  message: 'given up: by the one who asked, or because the account left its connection',
  retryable: true,
  sent: 'maybe',
};

export const storeIsLost: PlatformError = {
  code: 'STORE_LOST',
  message: 'the platform lost its store, and has not been read whole since',
  retryable: true,
  sent: 'no',
};

export const unclear: PlatformError = {
  code: 'BAD_ANSWER',
  message: 'a row cannot be read, or is of a store that was lost: it shows no absence',
  retryable: true,
  sent: 'yes',
};

export const noRoom: PlatformError = {
  code: 'NO_ROOM',
  message:
    'no memory was left to note what the stream brought meanwhile (TIDEMARK_NOTES_MAX_BYTES): silent losses were not looked for',
  retryable: true,
  sent: 'yes',
};

/** The lane ended, or the database could not be asked. What was read is safe to read again. */
export function notSettled(error: unknown): PlatformError {
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'STORE_UNAVAILABLE', message, retryable: true, sent: 'yes' };
}

/** The account as a whole, or our credential, is refused. */
export function isOfAccount({ status, code }: PlatformError): boolean {
  return status === 401 || status === 403 || code === 'LOGIN_REQUIRED';
}

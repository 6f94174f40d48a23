import type { Reason } from '../domain/command.ts';
import type { HttpResult } from './http.ts';

/**
 * Why the platform did not grant a request. Made from every body shape (specification, "General
 * error bodies"); nothing in it depends on a message text.
 */
export interface PlatformError {
  /** HTTP status; absent when no answer came. */
  readonly status?: number;
  /**
   * The platform's own code if it sent one. Ours otherwise: `NO_ANSWER`, `BAD_ANSWER` (an answer
   * with another shape than expected), `LOGIN_REQUIRED` (no token can be had without a person),
   * `TOKEN_UNAVAILABLE` (none just now), `LOOP` (a list that never ends).
   */
  readonly code?: string;
  readonly type?: string;
  /** For people, cut at 500 characters. */
  readonly message: string;
  /** Whether the same request may succeed later by itself. */
  readonly retryable: boolean;
  /** The answer's `Retry-After`. */
  readonly retryAfterMs?: number;
  /** Whether the platform may have received the request. */
  readonly sent: 'no' | 'yes' | 'maybe';
}

/** An answer with a status other than success, in the venue's words. `retryAfterMs`: 0 for none. */
export function answeredError(
  status: number,
  {
    code,
    type,
    message,
  }: { readonly code?: string | undefined; readonly type?: string | undefined; readonly message: string },
  retryAfterMs: number,
): PlatformError {
  return {
    status,
    ...(code !== undefined && { code: code.slice(0, 100) }),
    ...(type !== undefined && { type: type.slice(0, 100) }),
    message: message.slice(0, 500).toWellFormed(),
    retryable: status === 408 || status === 425 || status === 429 || status >= 500,
    ...(retryAfterMs > 0 && { retryAfterMs }),
    sent: 'yes',
  };
}

/** No whole answer came. `retryable`: false for a write. */
export function noAnswer(
  { message, sent }: Pick<Extract<HttpResult, { kind: 'failed' }>, 'message' | 'sent'>,
  retryable = true,
): PlatformError {
  return { code: 'NO_ANSWER', message, retryable, sent };
}

/** A success with another shape than expected. */
export function badAnswer(message: string, status = 200): PlatformError {
  return { status, code: 'BAD_ANSWER', message: message.slice(0, 500), retryable: true, sent: 'yes' };
}

/** Why the platform did not carry out a request, in the journal's terms. */
export function reasonOf({ code, status, message }: Pick<PlatformError, 'code' | 'status' | 'message'>): Reason {
  return {
    code: code ?? (status === undefined ? 'NO_ANSWER' : `HTTP_${status}`),
    message: message.slice(0, 500).toWellFormed(),
    ...(status !== undefined && { status }),
  };
}

/**
 * `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date, which counts from the answer's own
 * `Date`. So the clocks of the two sides need not agree. 0 if there is none, or no such date.
 */
export function retryAfterMsOf(result: HttpResult): number {
  if (result.kind !== 'answered') return 0;
  const { 'retry-after': after = '', date = '' } = result.headers;
  if (/^\d{1,6}$/.test(after)) return Number(after) * 1000;
  if (!httpDate.test(after) || !httpDate.test(date)) return 0;
  return Math.max(0, Date.parse(after) - Date.parse(date)) || 0;
}

/** The one form in use: `Sun, 06 Nov 1994 08:49:37 GMT`. */
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

import type { Secret } from '../runtime/secret.ts';
import type { HttpOutcome } from './http.ts';
import type { PlatformError } from './platform-error.ts';

/**
 * The outcome of one write, by the table "observed → outcome".
 *
 * - `accepted`: a success that names our order. `rejected`: the platform answered that this very order was rejected.
 * - `refused`: the platform said no before the order existed. `not_sent`: no byte left, or the platform's documented word is that nothing was sent.
 * - `unknown`: everything else. It is never to be sent again on the strength of this answer.
 */
export type WriteResult<T> =
  | { readonly kind: 'answered'; readonly verdict: 'accepted' | 'rejected'; readonly answer: T }
  | {
      readonly kind: 'failed';
      readonly verdict: 'refused' | 'not_sent' | 'unknown';
      /** `retryable` is true for `not_sent` alone, where the cause may pass by itself. */
      readonly error: PlatformError;
      /** Of the token that was used; absent when there was none. After a 401 it shows whether that token is still the current one. */
      readonly tokenGeneration?: number;
    };

export interface WriteRequest {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  /** Absolute; of the origin that the line was opened to. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | Secret>>;
  readonly body?: string;
}

/** One connection for one request. */
export interface WriteLine {
  /**
   * Writes the request once and reads its answer. Never rejects; `sent` is `no` only where no byte of it left. The line is closed afterwards. Throws when
   * it is called a second time.
   */
  send(request: WriteRequest, signal?: AbortSignal): Promise<HttpOutcome>;
  /** Gives the line up unused. Harmless afterwards. */
  close(): void;
}

export type OpenLine =
  | { readonly open: true; readonly line: WriteLine }
  /** Name, TCP or TLS failed: nothing of any request was sent. */
  | { readonly open: false; readonly message: string };

/**
 * How writes reach the platform: connected first, so that only one write follows the caller's decision to send, on a socket that is known to be there.
 * Nothing is ever sent twice: no retry, no redirect, no connection that served a request before.
 */
export interface WriteLines {
  open(url: string, signal?: AbortSignal): Promise<OpenLine>;
}

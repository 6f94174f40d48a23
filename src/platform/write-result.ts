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

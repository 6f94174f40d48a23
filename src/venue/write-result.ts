import type { Reason } from '../domain/command.ts';
import type { Secret } from '../runtime/secret.ts';
import type { HttpResult } from './http.ts';
import type { Fields } from './row-reader.ts';

/**
 * One write's result (docs/commands.md, "Result of a write", table "observed → result").
 *
 * - `accepted`: a success that names our order. `rejected`: the platform answered that this very
 *   order was rejected.
 * - `refused`: the platform said no before the order existed. `not_sent`: no byte left, or the
 *   platform's documented word is that nothing was sent.
 * - `unknown`: everything else. It is never to be sent again on the strength of this answer.
 */
export type WriteResult =
  | WriteAnswer
  /**
   * `staleToken`: a 401 for a token that is not the current one any more, or was current and has
   * now been refreshed. One further attempt is allowed.
   */
  | { readonly kind: 'refused'; readonly reason: Reason; readonly staleToken?: true }
  /**
   * `mayRepeat`: the documented 429 and 503, or a failed connection: the next attempt may succeed.
   * `retryAfterMs`: the platform asks to wait for so long.
   */
  | { readonly kind: 'not_sent'; readonly reason: Reason; readonly mayRepeat: boolean; readonly retryAfterMs?: number }
  | { readonly kind: 'unknown'; readonly reason: Reason };

/**
 * An answer about our order. `answer`: its content, for the evidence; no secrets. `order`: the
 * order, if the answer shows it, for ingest. `orderId`: the order's id, where the answer to a place
 * leaves our reference out and names the order by it alone.
 */
export interface WriteAnswer {
  readonly kind: 'accepted' | 'rejected';
  readonly reason?: Reason;
  readonly answer: Fields;
  readonly order?: unknown;
  readonly orderId?: string;
}

/** Nothing was sent, and the next attempt would end the same way. */
export function notSent(code: string, message: string): WriteResult {
  return { kind: 'not_sent', reason: { code, message: message.slice(0, 500).toWellFormed() }, mayRepeat: false };
}

export interface WriteRequest {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  /** Absolute, with the origin the line was opened to. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | Secret>>;
  readonly body?: string;
}

/** One connection for one request. */
export interface WriteLine {
  /**
   * Writes the request once and reads its answer. Never rejects; `sent` is `no` only if no byte
   * left. The line is closed afterwards. Throws when it is called a second time.
   */
  send(request: WriteRequest, signal?: AbortSignal): Promise<HttpResult>;
  /** Gives the line up unused. Harmless afterwards. */
  close(): void;
}

export type OpenLine =
  | { readonly open: true; readonly line: WriteLine }
  /** Name, TCP or TLS failed: no part of any request was sent. */
  | { readonly open: false; readonly message: string };

/**
 * The way writes reach the platform. The connection comes first, so only one write follows the
 * caller's decision to send, on a socket known to be there. Nothing is ever sent twice: no retry,
 * no redirect, no connection that served a request before.
 */
export interface WriteLines {
  open(url: string, signal?: AbortSignal): Promise<OpenLine>;
}

export interface WriteOptions {
  /**
   * Asked once there is a token and the socket is connected, immediately before the one write. The
   * coming write is recorded here. False or a rejection: nothing is written, and the result is
   * `not_sent`.
   */
  readonly mayWrite: () => Promise<boolean>;
  /**
   * Asked once after `mayWrite`, synchronously with the write. Nothing is awaited between its
   * answer and the first byte, so no byte follows a halt raised before. False: nothing is written,
   * and the result is `not_sent`.
   */
  readonly mayStillWrite: () => boolean;
  readonly signal: AbortSignal;
}

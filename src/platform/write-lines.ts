import type { Secret } from '../runtime/secret.ts';
import type { HttpOutcome } from './http.ts';

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

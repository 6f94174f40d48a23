import { isUtf8 } from 'node:buffer';
import { Secret } from '../runtime/secret.ts';

export interface HttpRequest {
  /** Short and stable: a metric label (`list_orders`, `token` …). */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string | Secret>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** The largest answer to read, for one known to be large. Left out: 8 MiB. */
  readonly maxBytes?: number;
}

export type HttpResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** Names in lower case. */
      readonly headers: Readonly<Record<string, string>>;
      /** The whole body, decoded, valid UTF-8. */
      readonly text: string;
    }
  /**
   * No whole answer. `code`: `connect`, `deadline`, `aborted`, `broken` (torn, reset, not HTTP),
   * `too_large`, `bad_coding`, `bad_utf8`. `sent`: whether request bytes may have reached the
   * platform.
   */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly sent: 'no' | 'maybe' };

/** A metric label. */
export function codeClassOf(result: HttpResult): string {
  return result.kind === 'answered' ? `${Math.floor(result.status / 100)}xx` : 'none';
}

/**
 * One request, one attempt: no redirect is followed (a 3xx is an answer), nothing is sent twice.
 * The exception is a GET on a kept connection that closes before any answer: it is made once more,
 * on a new one. Never rejects. Deadlines: 2 s for the connection, 10 s for the whole. An answer is
 * read up to 8 MiB, or to the request's own bound.
 */
export interface Http {
  request(request: HttpRequest): Promise<HttpResult>;
  close(): Promise<void>;
}

const utf8 = new TextDecoder();

/** A body's text, undefined if it is not UTF-8. A byte order mark before it is no part of it. */
export function textOfBody(body: Buffer): string | undefined {
  return isUtf8(body) ? utf8.decode(body) : undefined;
}

/** As they go on the wire. */
export function revealedHeaders(headers: HttpRequest['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]),
  );
}

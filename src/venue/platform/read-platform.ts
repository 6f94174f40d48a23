import type { z } from 'zod';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { Secret } from '../../runtime/secret.ts';
import type { Http, HttpRequest, HttpResult } from '../http.ts';
import type { ReadBudget } from '../order-reads.ts';
import { parseJson } from '../parse-json.ts';
import { type PlatformError, retryAfterMsOf } from '../platform-error.ts';
import type { AccessToken, TokenSource } from '../tokens.ts';
import { errorFromAnswer } from './error-from-answer.ts';
import { queryText } from './platform-address.ts';

export interface ReadDeps extends Pick<Ambient, 'clock' | 'random'> {
  readonly http: Http;
  readonly tokens: TokenSource;
  readonly metrics: Metrics['platform'];
  /**
   * Each request takes from it, and none is repeated without it. Left out: requests are not
   * counted.
   */
  readonly budget?: ReadBudget | undefined;
}

/** One read's options. */
interface ReadSpecials {
  /** Beside the token. */
  readonly headers?: HttpRequest['headers'];
  /** How the body becomes a value; `parseJson` when left out. Throws if it is none. */
  readonly parse?: (text: string) => unknown;
  /** As in `HttpRequest`. */
  readonly maxBytes?: number;
}

type ReadResult =
  | { readonly ok: true; readonly value: unknown; readonly bytes: number }
  | { readonly ok: false; readonly error: PlatformError };

/** How long one read is repeated before it is given up. */
const readDeadlineMs = 30_000;

/**
 * A GET with the bearer token, repeated on 5xx, 429 and answers that never came or were broken. The
 * backoff has full jitter (or is the platform's Retry-After), until 30 s have passed; a longer
 * Retry-After ends it at once, and the error has it. On 401 one renewal of the token and one
 * further try. Reads only: a write may not be repeated like this. `value` is the parsed body.
 */
export async function readPlatform(
  deps: ReadDeps,
  operation: string,
  url: string,
  signal: AbortSignal,
  specials: ReadSpecials = {},
): Promise<ReadResult> {
  const giveUpMs = deps.clock.monotonicMs() + readDeadlineMs;
  const backoff = new Backoff(deps.random, { firstMs: 250, maxMs: 5_000 });
  let renewed = false;
  for (;;) {
    const credential = await deps.tokens.get(url);
    if (!credential.ok) return credential;
    deps.budget?.spend();
    const { result, retryAfterMs } = await attempt(deps, operation, url, credential.token, signal, specials);
    const isAnswer = result.ok || result.error.status !== undefined;
    if (isAnswer && (result.ok || result.error.status !== 401)) deps.tokens.taken(credential.token.generation, url);
    if (result.ok || signal.aborted) return result;
    // A new token that is refused too says more of what is asked for than of the token.
    if (result.error.status === 401 && !renewed) {
      renewed = true;
      const next = await deps.tokens.renew(credential.token.generation, url);
      if (!next.ok) return next;
      continue;
    }
    const waitMs = Math.max(backoff.nextMs(), retryAfterMs);
    if (!result.error.retryable || deps.clock.monotonicMs() + waitMs >= giveUpMs) return result;
    if (deps.budget?.mayRepeat() === false) return result;
    await deps.clock.sleep(waitMs, signal);
    if (signal.aborted) return result;
  }
}

async function attempt(
  deps: ReadDeps,
  operation: string,
  url: string,
  token: AccessToken,
  signal: AbortSignal,
  { headers = {}, parse = parseJson, maxBytes }: ReadSpecials,
): Promise<{ readonly result: ReadResult; readonly retryAfterMs: number }> {
  const request: HttpRequest = {
    operation,
    method: 'GET',
    url,
    headers: { ...headers, accept: 'application/json', authorization: new Secret(`Bearer ${token.secret.reveal()}`) },
    signal,
    ...(maxBytes !== undefined && { maxBytes }),
  };
  const startedMs = deps.clock.monotonicMs();
  const result = await deps.http.request(request);
  const codeClass = result.kind === 'answered' ? `${Math.floor(result.status / 100)}xx` : 'none';
  deps.metrics.requestSeconds.observe(
    { operation, code_class: codeClass },
    (deps.clock.monotonicMs() - startedMs) / 1000,
  );
  return { result: toResult(result, parse), retryAfterMs: retryAfterMsOf(result) };
}

function toResult(observed: HttpResult, parse: (text: string) => unknown): ReadResult {
  if (observed.kind === 'failed') {
    return { ok: false, error: { code: 'NO_ANSWER', message: observed.message, retryable: true, sent: observed.sent } };
  }
  const body = jsonOrUndefined(observed.text, parse);
  if (observed.status !== 200)
    return { ok: false, error: errorFromAnswer(observed.status, body, retryAfterMsOf(observed)) };
  if (body === undefined) {
    const message = 'the answer is not JSON';
    return { ok: false, error: { status: 200, code: 'BAD_ANSWER', message, retryable: true, sent: 'yes' } };
  }
  return { ok: true, value: body, bytes: observed.text.length };
}

export type Fetched<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: PlatformError };

/** One read's parts. `query` leaves out undefined values. */
interface ShapedRead<Shape extends z.ZodType> extends ReadSpecials {
  /** A metric label. */
  readonly operation: string;
  /** Base address and path. */
  readonly url: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly shape: Shape;
}

/** A read whose answer has to have a shape. `BAD_ANSWER` when it has another; never rejects. */
export async function readShape<Shape extends z.ZodType>(
  deps: ReadDeps,
  read: ShapedRead<Shape>,
  signal: AbortSignal,
): Promise<Fetched<z.output<Shape>>> {
  const answer = await readPlatform(deps, read.operation, `${read.url}${queryText(read.query ?? {})}`, signal, read);
  if (!answer.ok) return answer;
  const body = read.shape.safeParse(answer.value);
  if (body.success) return { ok: true, value: body.data };
  const [issue] = body.error.issues;
  return badAnswer(`the answer to ${read.operation} has another shape: ${issue?.path.join('.')}: ${issue?.message}`);
}

/**
 * An answer that itself says it is none: `status` or `s` is another word than success
 * (specification, "Options quote response").
 */
export function unsuccessful(operation: string, word: string): { readonly ok: false; readonly error: PlatformError } {
  return badAnswer(`the answer to ${operation} has the status ${word}`);
}

function badAnswer(message: string): { readonly ok: false; readonly error: PlatformError } {
  return {
    ok: false,
    error: { status: 200, code: 'BAD_ANSWER', message: message.slice(0, 500), retryable: true, sent: 'yes' },
  };
}

import type { Stream } from '../domain/order.ts';
import type { Ambient } from '../observability/ambient.ts';
import type { Metrics } from '../observability/metrics.ts';
import { Backoff } from '../runtime/backoff.ts';
import { jsonOrUndefined } from '../runtime/json-or-undefined.ts';
import type { Secret } from '../runtime/secret.ts';
import { codeClassOf, type Http, type HttpRequest, type HttpResult } from './http.ts';
import { addressFault } from './order-address.ts';
import type { AccountsResult, GetResult, OrderReads, ReadBudget } from './order-reads.ts';
import { parseJson } from './parse-json.ts';
import { badAnswer, noAnswer, type PlatformError, retryAfterMsOf } from './platform-error.ts';
import type { AccessToken, TokenSource } from './tokens.ts';

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

/** One read. */
export interface VenueRead extends Pick<HttpRequest, 'operation' | 'url'> {
  /** Beside the credential. */
  readonly headers?: HttpRequest['headers'];
  /** The media type to ask for; JSON when left out. */
  readonly accept?: string;
  /** How the body becomes a value; `parseJson` when left out. Throws if it is none. */
  readonly parse?: (text: string) => unknown;
  /** As in `HttpRequest`. */
  readonly maxBytes?: number;
}

export type ReadResult =
  | { readonly ok: true; readonly value: unknown; readonly bytes: number }
  | { readonly ok: false; readonly error: PlatformError };

/** What a signature may cover. */
export interface SignedRequest extends Pick<HttpRequest, 'method' | 'url' | 'body'> {
  /** Wall time, as the request leaves. */
  readonly atMs: number;
}

/** What a venue has its own way of. */
export interface Dialect {
  /** The headers with a credential, or a signature by it. */
  sign(credential: Secret, request: SignedRequest): HttpRequest['headers'];
  /** An answer with a status other than 200. `body`: parsed, undefined if it is not JSON. */
  errorOf(status: number, body: unknown, retryAfterMs: number): PlatformError;
}

/** How long one read is repeated before it is given up. */
const readDeadlineMs = 30_000;

/**
 * A GET with the credential, repeated on 5xx, 429 and answers that never came or were broken. The
 * backoff has full jitter (or is the venue's Retry-After), until 30 s have passed; a longer
 * Retry-After ends it at once, and the error has it. On 401 one renewal of the token and one
 * further try. Reads only: a write may not be repeated like this. `value` is the parsed body.
 */
export async function readVenue(
  deps: ReadDeps,
  dialect: Dialect,
  read: VenueRead,
  signal: AbortSignal,
): Promise<ReadResult> {
  const giveUpMs = deps.clock.monotonicMs() + readDeadlineMs;
  const backoff = new Backoff(deps.random, { firstMs: 250, maxMs: 5_000 });
  let renewed = false;
  for (;;) {
    const credential = await deps.tokens.get(read.url);
    if (!credential.ok) return credential;
    const held = deps.tokens.requests?.take(deps.budget?.purpose ?? 'resync');
    if (held !== undefined) {
      const { waitMs: retryAfterMs, message } = held;
      const error = { code: 'REQUESTS_USED_UP', message, retryable: true, retryAfterMs, sent: 'no' } as const;
      if (deps.clock.monotonicMs() + retryAfterMs >= giveUpMs) return { ok: false, error };
      await deps.clock.sleep(retryAfterMs, signal);
      if (signal.aborted) return { ok: false, error };
      continue;
    }
    deps.budget?.spend?.();
    const { result, retryAfterMs } = await attempt(deps, dialect, read, credential.token, signal);
    const isAnswer = result.ok || result.error.status !== undefined;
    if (isAnswer && (result.ok || result.error.status !== 401))
      deps.tokens.taken(credential.token.generation, read.url);
    if (result.ok || signal.aborted) return result;
    // A new token that is refused too says more of what is asked for than of the token.
    if (result.error.status === 401 && !renewed) {
      renewed = true;
      const next = await deps.tokens.renew(credential.token.generation, read.url);
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

/**
 * Reads one order. `urlOf`: its address, with `id` as it stands there. `rowOf`: the order in an
 * answer, if it is not the whole.
 */
export function orderByUrl(
  deps: ReadDeps,
  dialect: Dialect,
  urlOf: (stream: Stream, accountId: string, id: string) => string,
  rowOf = (answer: unknown, _stream: Stream) => answer,
): OrderReads['getOrder'] {
  return async (stream, accountId, orderId, signal, budget) => {
    const fault = addressFault(orderId);
    if (fault !== undefined) return { kind: 'failed', error: fault };
    const url = urlOf(stream, accountId, encodeURIComponent(orderId));
    return readOrderAt({ ...deps, budget }, dialect, url, signal, (answer) => rowOf(answer, stream));
  };
}

/** One order. Only a 404 in the venue's words shows its absence. */
export async function readOrderAt(
  deps: ReadDeps,
  dialect: Dialect,
  url: string,
  signal: AbortSignal,
  rowOf = (answer: unknown) => answer,
): Promise<GetResult> {
  const answer = await readVenue(deps, dialect, { operation: 'get_order', url }, signal);
  if (!answer.ok) {
    const { error } = answer;
    return error.status === 404 && error.code !== 'BAD_ANSWER' ? { kind: 'absent' } : { kind: 'failed', error };
  }
  const row = rowOf(answer.value);
  if (typeof row === 'object' && row !== null) return { kind: 'found', row, bytes: answer.bytes };
  return { kind: 'failed', error: badAnswer('the order has another shape than the documents say') };
}

/** All accounts, by one read. `accountsOf`: undefined, if the answer has another shape. */
export async function accountsByUrl(
  deps: ReadDeps,
  dialect: Dialect,
  read: Omit<VenueRead, 'operation'>,
  accountsOf: (answer: unknown) => Promise<AccountsShown | undefined> | AccountsShown | undefined,
  signal: AbortSignal,
): Promise<AccountsResult> {
  const answer = await readVenue(deps, dialect, { ...read, operation: 'list_accounts' }, signal);
  if (!answer.ok) return { complete: false, error: answer.error };
  const shown = await accountsOf(answer.value);
  if (shown === undefined)
    return { complete: false, error: badAnswer('the accounts have another shape than the documents say') };
  return { complete: true, ...shown };
}

type AccountsShown = Omit<Extract<AccountsResult, { complete: true }>, 'complete'>;

async function attempt(
  deps: ReadDeps,
  dialect: Dialect,
  { operation, url, headers = {}, accept = 'application/json', parse = parseJson, maxBytes }: VenueRead,
  token: AccessToken,
  signal: AbortSignal,
): Promise<{ readonly result: ReadResult; readonly retryAfterMs: number }> {
  const signature = dialect.sign(token.secret, { method: 'GET', url, atMs: deps.clock.nowMs() });
  const request: HttpRequest = {
    operation,
    method: 'GET',
    url,
    headers: { ...headers, accept, ...signature },
    signal,
    ...(maxBytes !== undefined && { maxBytes }),
  };
  const startedMs = deps.clock.monotonicMs();
  const observed = await deps.http.request(request);
  deps.tokens.requests?.saw(observed);
  deps.metrics.requestSeconds.observe(
    { operation, code_class: codeClassOf(observed) },
    (deps.clock.monotonicMs() - startedMs) / 1000,
  );
  return { result: toResult(dialect, observed, parse), retryAfterMs: retryAfterMsOf(observed) };
}

function toResult(dialect: Dialect, observed: HttpResult, parse: (text: string) => unknown): ReadResult {
  if (observed.kind === 'failed') return { ok: false, error: noAnswer(observed) };
  const body = jsonOrUndefined(observed.text, parse);
  if (observed.status !== 200)
    return { ok: false, error: dialect.errorOf(observed.status, body, retryAfterMsOf(observed)) };
  if (body === undefined) return { ok: false, error: badAnswer('the answer is not JSON') };
  return { ok: true, value: body, bytes: observed.text.length };
}

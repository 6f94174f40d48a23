import type { HttpAnswer, HttpRequest, Ports } from './ports.ts';

export interface Ok<T> {
  readonly kind: 'ok';
  readonly status: number;
  readonly body: T;
}

export interface Problem {
  readonly kind: 'problem';
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly retryAfterMs?: number;
  /** For a refused body: each field with its fault. */
  readonly faults: readonly { readonly path: string; readonly message: string }[];
}

/** `away`: there was no answer, or not in time. */
export type Failure = Problem | { readonly kind: 'away' };

/** An answer from REST. */
export type Answer<T> = Ok<T> | Failure;

/** Rows from a list; `next` begins the following ones. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next?: string | undefined;
}

/** Asking the service takes both: each wait has a timer. */
export interface RestDeps {
  readonly ports: Ports;
  readonly rest: Rest;
}

const answerWithinMs = 20_000;
const mostPages = 20;

interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Reads the body; JSON.parse when left out. */
  readonly parse?: ((text: string) => unknown) | undefined;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** A refused token is only reported. */
  readonly asIs?: boolean;
}

/** REST of the service that served this page, with its reader's token. */
export class Rest {
  /** Set by the session. */
  token: string | undefined;
  /** Raised by the session when a reader's time is over: what follows may be for another reader. */
  signOuts = 0;
  /**
   * Set by the session. The service refused `token`; resolves
   * with whether there is another one now.
   */
  onRefused: ((token: string) => Promise<boolean>) | undefined;
  private readonly ports: Ports;

  constructor(ports: Ports) {
    this.ports = ports;
  }

  /** Never rejects. */
  get<T>(path: string, query: Query = {}, signal?: AbortSignal, parse?: AskOptions['parse']): Promise<Answer<T>> {
    return this.whole<T>('GET', path + queryText(query), { signal, parse });
  }

  /**
   * Pages of a list, as one: until there are `most` rows, or no more pages. The service looks at a
   * part of a filtered list for each page, so an empty one may have a next one. After so many pages
   * it ends, and `next` is where they go on.
   */
  async getPages<T extends Page<unknown>>(
    path: string,
    query: Query,
    { most, signal }: { readonly most: number; readonly signal?: AbortSignal },
  ): Promise<Answer<T>> {
    const items: unknown[] = [];
    let { cursor } = query;
    for (let pages = 1; ; pages += 1) {
      const answer = await this.get<T>(path, { ...query, cursor }, signal);
      if (answer.kind !== 'ok') return answer;
      items.push(...answer.body.items);
      cursor = answer.body.next;
      if (cursor === undefined || items.length >= most || pages >= mostPages || signal?.aborted)
        return { ...answer, body: { ...answer.body, items } };
    }
  }

  /** As `get`, for the session itself: a refused token is reported, and nothing follows from it. */
  probe<T>(path: string): Promise<Answer<T>> {
    return this.whole<T>('GET', path, { asIs: true });
  }

  /**
   * A request that changes something. Never rejects. `away`: it may have been done; only a request
   * with an idempotency key may be sent again.
   */
  send<T>(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    options: Pick<AskOptions, 'body' | 'headers'> = {},
  ): Promise<Answer<T>> {
    return this.whole<T>(method, path, options);
  }

  /**
   * The head of a stream: its body goes on until `signal` aborts. Rejects when there is no answer.
   */
  ask(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<HttpAnswer> {
    return this.ports.fetch(path, { method: 'GET', headers: { ...headers, ...this.authorization() }, signal });
  }

  private async whole<T>(method: HttpRequest['method'], path: string, options: AskOptions): Promise<Answer<T>> {
    const { token, signOuts } = this;
    const answer = await this.once<T>(method, path, options);
    if (answer.kind !== 'problem' || answer.status !== 401 || options.asIs === true || token === undefined)
      return answer;
    // Nothing was done without an accepted token, so even a change may be sent again.
    if ((await this.onRefused?.(token)) !== true) return answer;
    return this.signOuts === signOuts ? this.once<T>(method, path, options) : { kind: 'away' };
  }

  private async once<T>(method: HttpRequest['method'], path: string, options: AskOptions): Promise<Answer<T>> {
    const { signal, parse = JSON.parse, body, headers } = options;
    const abort = new AbortController();
    const leave = () => abort.abort();
    const timer = this.ports.after(answerWithinMs, leave);
    signal?.addEventListener('abort', leave, { once: true });
    try {
      const answer = await this.ports.fetch(path, {
        method,
        headers: {
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
          ...this.authorization(),
        },
        signal: abort.signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      if (answer.status < 200 || answer.status > 299) {
        const problem = await problemOf(answer);
        // The service asked another instance and got no answer, or a proxy answers in its place: it
        // may have been done.
        const isLost = problem.code === 'FORWARD_UNANSWERED' || (method !== 'GET' && problem.code.startsWith(notOurs));
        return isLost ? { kind: 'away' } : problem;
      }
      const text = await answer.text();
      return { kind: 'ok', status: answer.status, body: (text === '' ? undefined : parse(text)) as T };
    } catch {
      return { kind: 'away' };
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', leave);
    }
  }

  private authorization(): Readonly<Record<string, string>> {
    return this.token === undefined ? {} : { authorization: `Bearer ${this.token}` };
  }
}

/** Begins the code of an answer without one: a proxy's, most likely. */
const notOurs = 'HTTP_';

/** A failure, with the service's own words if it has some. */
export async function problemOf(answer: HttpAnswer): Promise<Problem> {
  const body = (await answer
    .text()
    .then(JSON.parse)
    .catch(() => ({}))) as {
    readonly code?: unknown;
    readonly detail?: unknown;
    readonly faults?: readonly { path: string; message: string }[];
  };
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
  return {
    kind: 'problem',
    status: answer.status,
    code: typeof body.code === 'string' ? body.code : `${notOurs}${answer.status}`,
    detail: typeof body.detail === 'string' ? body.detail : 'the service gave no reason',
    faults: Array.isArray(body.faults) ? body.faults : [],
    ...(Number.isFinite(seconds) && { retryAfterMs: Math.min(60_000, seconds * 1000) }),
  };
}

type Query = Readonly<Record<string, string | undefined>>;

/** For the end of a path. Undefined and empty words are left out. */
export function queryText(query: Query): string {
  const given: [string, string][] = Object.entries(query).flatMap(([name, text]) => (text ? [[name, text]] : []));
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

/** A failure in one sentence for people. */
export function sentenceOf(answer: Failure): string {
  if (answer.kind === 'away') return 'The service does not answer.';
  const faults = answer.faults.map(({ path, message }) => `${path} ${message}`).join('; ');
  return `The service answers ${answer.status} ${answer.code}: ${faults === '' ? answer.detail : faults}.`;
}

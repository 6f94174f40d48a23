import type { HttpAnswer, Ports } from './ports.ts';

/** An answer of REST. `away`: there was none, or not in time. */
export type Answer<T> =
  | { readonly kind: 'ok'; readonly body: T }
  | {
      readonly kind: 'problem';
      readonly status: number;
      readonly code: string;
      readonly detail: string;
      readonly retryAfterMs?: number;
    }
  | { readonly kind: 'away' };

const answerWithinMs = 20_000;

/** REST of the service that served this page, with the token of its reader. */
export class Rest {
  /** Set by the session. */
  token: string | undefined;
  private readonly ports: Ports;

  constructor(ports: Ports) {
    this.ports = ports;
  }

  /** Never rejects. `query`: parameters that are undefined are left out. `parse` reads the body. */
  async get<T>(
    path: string,
    query: Readonly<Record<string, string | undefined>> = {},
    signal?: AbortSignal,
    parse: (text: string) => unknown = JSON.parse,
  ): Promise<Answer<T>> {
    const abort = new AbortController();
    const timer = this.ports.after(answerWithinMs, () => abort.abort());
    const leave = () => abort.abort();
    signal?.addEventListener('abort', leave, { once: true });
    try {
      const answer = await this.ask(path + textOf(query), { accept: 'application/json' }, abort.signal);
      if (answer.status === 200) return { kind: 'ok', body: parse(await answer.text()) as T };
      return await problemOf(answer);
    } catch {
      return { kind: 'away' };
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', leave);
    }
  }

  /** The head of a stream: its body goes on until `signal` aborts. Rejects when there is no answer. */
  ask(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<HttpAnswer> {
    const authorization = this.token === undefined ? {} : { authorization: `Bearer ${this.token}` };
    return this.ports.fetch(path, { method: 'GET', headers: { ...headers, ...authorization }, signal });
  }
}

/** An answer that is not a success, with the service's own words where it has some. */
export async function problemOf(answer: HttpAnswer): Promise<Extract<Answer<never>, { kind: 'problem' }>> {
  const body = (await answer
    .text()
    .then(JSON.parse)
    .catch(() => ({}))) as { readonly code?: unknown; readonly detail?: unknown };
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
  return {
    kind: 'problem',
    status: answer.status,
    code: typeof body.code === 'string' ? body.code : `HTTP_${answer.status}`,
    detail: typeof body.detail === 'string' ? body.detail : 'the service gave no reason',
    ...(Number.isFinite(seconds) && { retryAfterMs: Math.min(60_000, seconds * 1000) }),
  };
}

function textOf(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

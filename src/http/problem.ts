/** The body of every error that we answer: RFC 9457, with what a program needs to act on it. */
export interface Problem {
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  /** One sentence for people. Never holds input or anything from inside. */
  readonly detail: string;
  /** Short and stable. */
  readonly code: string;
  /** True: the same request may succeed later. */
  readonly retryable: boolean;
  readonly requestId: string;
}

export const problemType = 'application/problem+json; charset=utf-8';

const titles: Readonly<Record<number, string>> = {
  400: 'Bad request',
  404: 'Not found',
  405: 'Method not allowed',
  413: 'Content too large',
  415: 'Unsupported media type',
  500: 'Internal error',
  503: 'Service unavailable',
};

export function problem(status: number, code: string, detail: string, requestId: string): Problem {
  const retryable = status === 503 || status === 429;
  return { type: 'about:blank', title: titles[status] ?? 'Error', status, detail, code, retryable, requestId };
}

/** What is wrong with one field of a body or one parameter. `path` names it; the value is not repeated. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** The limit that a command breaks: what it would come to, and the bound. Without a value it can't be said. */
export interface BrokenLimit {
  readonly limit: string;
  readonly value?: string;
  readonly bound: string;
}

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
  /** 400 only: each fault of the body or of the parameters. */
  readonly faults?: readonly Fault[];
  /** Of a command that a limit refuses. */
  readonly breach?: BrokenLimit;
}

export const problemType = 'application/problem+json; charset=utf-8';

const titles: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timeout',
  409: 'Conflict',
  412: 'Precondition failed',
  413: 'Content too large',
  414: 'URI too long',
  415: 'Unsupported media type',
  421: 'Misdirected request',
  422: 'Unprocessable content',
  429: 'Too many requests',
  431: 'Request header fields too large',
  500: 'Internal error',
  503: 'Service unavailable',
};

export function problem(
  status: number,
  code: string,
  detail: string,
  requestId: string,
  besides: Pick<Problem, 'faults' | 'breach'> = {},
): Problem {
  const retryable = status === 503 || status === 429 || status === 408;
  return {
    type: 'about:blank',
    title: titles[status] ?? 'Error',
    status,
    detail,
    code,
    retryable,
    requestId,
    ...besides,
  };
}

import type { Socket } from 'node:net';
import type { Random } from '../../runtime/random.ts';
import { type BrokenLimit, type Fault, type ProblemCode, problemText, statusOf } from './problem-codes.ts';

/** Our one body for error answers: RFC 9457, with the fields for a program to act on. */
interface Problem {
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  /** One sentence for people. Never contains input or internal details. */
  readonly detail: string;
  /** Short and stable. */
  readonly code: ProblemCode;
  /** True: the same request may succeed later. */
  readonly retryable: boolean;
  readonly requestId: string;
  /** 400 only: each fault in the body or the parameters. */
  readonly faults?: readonly Fault[];
  /** Present when a limit refuses a command. */
  readonly breach?: BrokenLimit;
  /** The command in the way, if the caller may see it. */
  readonly commandId?: string;
  /** For the caller, about that command. */
  readonly advice?: string;
}

/** The fields of some problems alone. */
export type Besides = Pick<Problem, 'faults' | 'breach' | 'commandId' | 'advice'>;

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
  code: ProblemCode,
  requestId: string,
  detail = problemText(code),
  besides: Besides = {},
): Problem {
  const status = statusOf(code);
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

const codesOfParser: Readonly<Record<string, readonly [code: ProblemCode, detail?: string]>> = {
  HPE_HEADER_OVERFLOW: ['HEADERS_TOO_LARGE'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['TOO_LARGE', 'the request has larger chunk extensions than are read here'],
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TIMEOUT'],
};

/**
 * For input that node's parser refuses before there is a request: the same kind of body as
 * everywhere, then the connection ends.
 */
export function answerClientError(random: Random, error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || answerBegun(socket)) {
    socket.destroy();
    return;
  }
  const [code, detail] = codesOfParser[error.code ?? ''] ?? ['NOT_HTTP'];
  const body = problem(code, random.uuid(), detail);
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${body.status} ${body.title}`,
    `Content-Type: ${problemType}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${body.requestId}`,
    'Cache-Control: no-store',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
  // The client's further input is not read, and the client need not close its side.
  socket.destroySoon();
}

/** Another head in the middle of an answer would be read as part of its body. */
function answerBegun(socket: Socket): boolean {
  const { _httpMessage: message } = socket as Socket & { _httpMessage?: { readonly headersSent?: boolean } };
  return message?.headersSent === true;
}

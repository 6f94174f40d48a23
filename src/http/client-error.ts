import type { Socket } from 'node:net';
import type { Random } from '../runtime/random.ts';
import { problem, problemType } from './problem.ts';

const tellings: Readonly<Record<string, readonly [status: number, code: string, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'HEADERS_TOO_LARGE', 'the header block has more than 8 KiB'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'TOO_LARGE', 'the request has larger chunk extensions than are read here'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'REQUEST_TIMEOUT', 'the request did not arrive in time'],
};
const notHttp = [400, 'NOT_HTTP', 'what was sent is not one unambiguous HTTP request'] as const;

/** For what node's parser refuses, before there is a request: the same kind of body as everywhere, then the connection ends. */
export function answerClientError(random: Random, error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || answerBegun(socket)) {
    socket.destroy();
    return;
  }
  const [status, code, detail] = tellings[error.code ?? ''] ?? notHttp;
  const body = problem(status, code, detail, random.uuid());
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${body.title}`,
    `Content-Type: ${problemType}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${body.requestId}`,
    'Cache-Control: no-store',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
  // What else the client sends is not read any more, and it need not close its side.
  socket.destroySoon();
}

/** Another head in the middle of an answer would be read as part of its body. */
function answerBegun(socket: Socket): boolean {
  const { _httpMessage: message } = socket as Socket & { _httpMessage?: { readonly headersSent?: boolean } };
  return message?.headersSent === true;
}

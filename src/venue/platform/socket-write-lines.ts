import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';
import { dial } from '../../runtime/dial.ts';
import { Proxies } from '../../runtime/proxies.ts';
import { type HttpResult, revealedHeaders } from '../http.ts';
import type { OpenLine, WriteLine, WriteLines, WriteRequest } from '../write-result.ts';
import { answeredWith, failed } from './decode-body.ts';

export interface SocketWriteOptions {
  readonly connectMs?: number;
  /**
   * From the first byte to the answer's last. Above the platform's own deadline, so its 504 is
   * seen.
   */
  readonly totalMs?: number;
  readonly maxBodyBytes?: number;
}

/**
 * `WriteLines` by a new socket for each write, spoken to by Node's HTTP client. Not by undici,
 * which serves the reads. Version 8.12.4 wrote each request once in our trials (FIN and RST on a
 * kept-alive socket; DELETE, PATCH, POST). But its queue decides when and on which socket the bytes
 * leave, and whether a DELETE counts as repeatable has changed between versions. Here the socket is
 * connected before, used once, and closed; Node's client repeats nothing. It costs one connection
 * set-up for each write, and that is over before the attempt is recorded.
 */
export class SocketWriteLines implements WriteLines {
  private readonly clock: Clock;
  private readonly proxies: Proxies;
  private readonly options: Required<SocketWriteOptions>;

  constructor(deps: { clock: Clock; proxies?: Proxies }, options: SocketWriteOptions = {}) {
    this.clock = deps.clock;
    this.proxies = deps.proxies ?? new Proxies();
    this.options = { connectMs: 2_000, totalMs: 10_000, maxBodyBytes: 1024 * 1024, ...options };
  }

  /**
   * Behind a proxy the line is open once its tunnel is: a proxy that refuses has seen no byte of
   * the write.
   */
  async open(url: string, signal?: AbortSignal): Promise<OpenLine> {
    if (signal?.aborted) return { open: false, message: 'given up by the caller' };
    const { clock, proxies, options } = this;
    try {
      const socket = await dial({ clock, proxies }, new URL(url), { connectMs: options.connectMs, signal });
      return { open: true, line: new SocketWriteLine({ clock, socket }, options) };
    } catch (error) {
      return { open: false, message: (error as Error).message };
    }
  }
}

/**
 * States: open → sending → closed. Invariant: the socket carries at most one request, and none once
 * its other side has ended.
 */
class SocketWriteLine implements WriteLine {
  private used = false;
  private readonly clock: Clock;
  private readonly socket: Socket;
  private readonly options: Required<SocketWriteOptions>;

  constructor(deps: { clock: Clock; socket: Socket }, options: Required<SocketWriteOptions>) {
    this.clock = deps.clock;
    this.socket = deps.socket;
    this.options = options;
  }

  close(): void {
    this.socket.destroy();
  }

  async send(request: WriteRequest, signal?: AbortSignal): Promise<HttpResult> {
    if (this.used) throw new Error('a write line carries one request');
    this.used = true;
    const { socket } = this;
    // Bytes that came before the request (a 408 to an idle line) cannot be its answer.
    if (signal?.aborted || socket.destroyed || socket.readableEnded || socket.readableLength > 0 || !socket.writable) {
      socket.destroy();
      return failed('connect', 'the connection had ended before the request was written', 'no');
    }
    const before = socket.bytesWritten;
    try {
      return await this.exchange(request, signal);
    } catch (error) {
      const { message, code } = error as Error & { code?: string };
      // Bytes that only wait in a buffer count as moved: too careful is harmless.
      const sent = socket.bytesWritten > before ? 'maybe' : 'no';
      return failed(code === 'DEADLINE' ? 'deadline' : code === 'TOO_LARGE' ? 'too_large' : 'broken', message, sent);
    } finally {
      socket.destroy();
    }
  }

  private exchange(request: WriteRequest, signal: AbortSignal | undefined): Promise<HttpResult> {
    const { totalMs, maxBodyBytes } = this.options;
    return new Promise((resolve, reject) => {
      const written = this.write(request);
      const end = (error: unknown) => {
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
        reject(error);
        written.destroy();
      };
      const onAbort = () => end(coded('ABORTED', 'given up by the caller'));
      const timer = this.clock.after(totalMs, () => end(coded('DEADLINE', `no whole answer within ${totalMs} ms`)));
      signal?.addEventListener('abort', onAbort, { once: true });
      written.on('error', end);
      // An upgrade not asked for, or an end without an answer.
      written.on('close', () => end(coded('CLOSED', 'the connection ended without a whole answer')));
      written.on('response', (answer) => {
        readBody(answer, maxBodyBytes).then((body) => {
          timer.cancel();
          signal?.removeEventListener('abort', onAbort);
          resolve(answeredWith(answer.statusCode ?? 0, answer.headers, body, maxBodyBytes));
        }, end);
      });
    });
  }

  private write({ method, url, headers, body }: WriteRequest): ClientRequest {
    const { host, pathname, search } = new URL(url);
    const bytes = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const request = httpRequest({
      createConnection: () => this.socket,
      method,
      path: `${pathname}${search}`,
      headers: { host, 'accept-encoding': 'identity', ...revealedHeaders(headers), ...bytes, connection: 'close' },
      setHost: false,
      maxHeaderSize: 16_384,
    });
    // Head and body leave in one write.
    request.end(body);
    return request;
  }
}

async function readBody(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw coded('TOO_LARGE', `the answer has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  if (!answer.complete) throw coded('TORN', 'the answer was torn');
  return Buffer.concat(chunks);
}

function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

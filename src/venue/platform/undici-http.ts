import { Agent, type buildConnector, type Dispatcher, request as send } from 'undici';
import type { Clock } from '../../runtime/clock.ts';
import { connectorThrough } from '../../runtime/connector-through.ts';
import { NotConnectedError } from '../../runtime/dial.ts';
import { Proxies } from '../../runtime/proxies.ts';
import { abortAfter, DeadlineError } from '../../runtime/waiting.ts';
import { type Http, type HttpRequest, type HttpResult, revealedHeaders } from '../http.ts';
import { answeredWith, failed } from './decode-body.ts';

interface UndiciHttpOptions {
  readonly connectMs?: number;
  readonly totalMs?: number;
  readonly maxBodyBytes?: number;
  /** Sockets to one origin: further requests wait for one, inside their own deadlines. */
  readonly connections?: number;
}

/**
 * `Http` by undici. Pipelining is off (1): a request behind another on a breaking socket would be
 * neither sent nor unsent. `undici.request` follows no redirect and retries nothing by itself.
 *
 * A server may close a kept connection while a request is on its way there. So a GET that meets
 * this is made again at once on a new connection, and any other request gets a new one from the
 * start.
 */
export class UndiciHttp implements Http {
  private readonly kept: Agent;
  /** Each request on its own connection. */
  private readonly unkept: Agent;
  /** Ends of connections that had brought an answer before. */
  private readonly endsOfUsed = new WeakSet<object>();
  private readonly clock: Clock;
  private readonly totalMs: number;
  private readonly maxBodyBytes: number;

  constructor(deps: { clock: Clock; proxies?: Proxies }, options: UndiciHttpOptions = {}) {
    this.clock = deps.clock;
    this.totalMs = options.totalMs ?? 10_000;
    this.maxBodyBytes = options.maxBodyBytes ?? 8 * 1024 * 1024;
    const connect = connectorThrough(
      { clock: deps.clock, proxies: deps.proxies ?? new Proxies() },
      options.connectMs ?? 2_000,
    );
    const common = {
      connections: options.connections ?? 16,
      allowH2: false,
      connect: this.watched(connect),
      headersTimeout: this.totalMs,
      bodyTimeout: this.totalMs,
      maxHeaderSize: 16_384,
    };
    this.kept = new Agent({ ...common, pipelining: 1 });
    this.unkept = new Agent({ ...common, pipelining: 0 });
  }

  async request(request: HttpRequest): Promise<HttpResult> {
    const others = request.signal === undefined ? [] : [request.signal];
    using cut = abortAfter(this.clock, this.totalMs, 'the whole answer', ...others);
    try {
      const begin = (dispatcher: Agent) => this.begin(dispatcher, request, cut.signal);
      if (request.method !== 'GET') return await this.read(await begin(this.unkept), request);
      const answer = await begin(this.kept).catch((error: object) => {
        if (cut.signal.aborted || !this.endsOfUsed.has(error)) throw error;
        return begin(this.unkept);
      });
      return await this.read(answer, request);
    } catch (error) {
      const { aborted, reason } = cut.signal;
      if (!aborted) return failure(error);
      if (reason instanceof DeadlineError)
        return failed('deadline', `no whole answer within ${this.totalMs} ms`, 'maybe');
      return failed('aborted', 'given up by the caller', 'maybe');
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.kept.destroy(), this.unkept.destroy()]);
  }

  /** Resolves with the head of the answer. */
  private begin(dispatcher: Agent, request: HttpRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    return send(request.url, {
      dispatcher,
      method: request.method,
      headers: { 'accept-encoding': 'identity', ...revealedHeaders(request.headers) },
      body: request.body ?? null,
      signal,
    });
  }

  private watched(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...[failed, socket]) => {
        if (failed !== null) return callback(failed, null);
        // With TLS, its set-up has been read by now.
        const { bytesRead } = socket;
        socket.on('error', (error: NodeJS.ErrnoException) => {
          if (socket.bytesRead > bytesRead && closedByPeer.has(error.code ?? '')) this.endsOfUsed.add(error);
        });
        callback(null, socket);
      });
  }

  private async read(answer: Dispatcher.ResponseData, request: HttpRequest): Promise<HttpResult> {
    const maxBytes = request.maxBytes ?? this.maxBodyBytes;
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      // Leaving the loop destroys the body, and the socket with it.
      if (bytes > maxBytes) return failed('too_large', `the answer has more than ${maxBytes} bytes`, 'maybe');
      chunks.push(chunk);
    }
    return answeredWith(answer.statusCode, answer.headers, Buffer.concat(chunks), maxBytes);
  }
}

const closedByPeer: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** Only an error of the connector proves that nothing left: TLS may fail behind the request. */
function failure(error: unknown): HttpResult {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof NotConnectedError) return failed('connect', message, 'no');
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'UNKNOWN';
  const isCut = closedByPeer.has(code);
  return failed(
    'broken',
    isCut ? `the connection ended before the whole answer (${code})` : `${code}: ${message}`,
    'maybe',
  );
}

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Clock } from '../../runtime/clock.ts';
import { CliError, exitCodes } from '../cli-error.ts';

export interface Callback {
  readonly parameters: URLSearchParams;
  /** Shows the user how it ended, in the browser. */
  answer(status: 200 | 400, text: string): void;
}

const callbackPath = '/callback';

/**
 * Where the browser comes back to: on loopback only, for one answer (RFC 8252, section 7.3).
 *
 * States: open → answered or closed. Invariant: the first request for the callback's path is handed out, later ones are turned away; a page of the listener
 * leads nowhere, so that the code in its address goes no further.
 */
export class CallbackListener {
  /** As the platform must have it registered. */
  readonly redirectUri: string;
  private readonly server: Server;
  private readonly first: Promise<Callback>;

  private constructor(server: Server, port: number, first: Promise<Callback>) {
    this.server = server;
    this.redirectUri = `http://127.0.0.1:${port}${callbackPath}`;
    this.first = first;
  }

  /** Port 0: any free one. Rejects with a `CliError` when the port is taken. */
  static async open(options: { readonly port: number }): Promise<CallbackListener> {
    const { promise, resolve } = Promise.withResolvers<Callback>();
    let taken = false;
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', 'http://127.0.0.1');
      if (request.method !== 'GET' || url.pathname !== callbackPath) return send(response, 404, 'There is nothing here.');
      if (taken) return send(response, 400, 'This sign-in has ended already.');
      taken = true;
      resolve({ parameters: url.searchParams, answer: (status, text) => send(response, status, text) });
    });
    await new Promise<void>((listening, failed) => {
      server.once('error', (error) => failed(portError(options.port, error)));
      server.listen(options.port, '127.0.0.1', listening);
    });
    const address = server.address();
    return new CallbackListener(server, typeof address === 'object' && address !== null ? address.port : options.port, promise);
  }

  /** The browser's answer; undefined when none came in time, or `signal` aborted. */
  async wait(clock: Clock, limitMs: number, signal: AbortSignal): Promise<Callback | undefined> {
    const stop = new AbortController();
    const late = clock.sleep(limitMs, AbortSignal.any([signal, stop.signal])).then(() => undefined);
    const callback = await Promise.race([this.first, late]);
    stop.abort();
    return callback;
  }

  /** Lets the last page go out, and closes. */
  async close(): Promise<void> {
    await new Promise<void>((closed) => {
      this.server.close(() => closed());
      this.server.closeIdleConnections();
    });
  }
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  });
  const safe = text.replace(/[<>&]/g, ' ');
  response.end(`<!doctype html><meta charset="utf-8"><title>Tidemark</title><p>${safe}</p><p>You can close this window.</p>`);
}

function portError(port: number, cause: Error): CliError {
  return new CliError(`port ${port} of this machine cannot be listened on`, {
    code: 'PORT',
    exitCode: exitCodes.unavailable,
    mend: 'End what holds it, or name another port with --redirect-port; the platform must have that redirect URI registered.',
    cause,
  });
}

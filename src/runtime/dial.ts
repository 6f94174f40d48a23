import type { Socket } from 'node:net';
import { buildConnector, Client as HttpClient } from 'undici';
import type { Clock } from './clock.ts';
import { isSecureUrl, type Proxies, type ProxyServer, portOf } from './proxies.ts';
import { bareHost } from './url-host.ts';
import { abortAfter, unlessAborted } from './waiting.ts';

export interface DialDeps {
  readonly clock: Clock;
  readonly proxies: Proxies;
}

interface DialOptions {
  /** For the whole way: names, TCP, the proxy's answer, TLS. */
  readonly connectMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * No connection came about, so not a byte of a request was sent. The message names the proxy, if
 * there was one.
 */
export class NotConnectedError extends Error {
  readonly code = 'NOT_CONNECTED';
}

/**
 * A socket connected to the origin of `url`, through its proxy if it has one, with TLS if the
 * scheme asks for it. We never wrote to it except for the set-up. Rejects with a
 * `NotConnectedError`.
 *
 * A proxy is always asked for a tunnel, for `http` too, and never given a request itself. It could
 * repeat a request or answer in the platform's place, and its own refusal could not be
 * distinguished from the platform's.
 */
export async function dial(
  { clock, proxies }: DialDeps,
  url: URL,
  { connectMs, signal }: DialOptions,
): Promise<Socket> {
  const proxy = proxies.proxyFor(url);
  using cut = abortAfter(clock, connectMs, 'the connection', ...(signal === undefined ? [] : [signal]));
  let tunnel: Socket | undefined;
  try {
    if (proxy !== undefined)
      tunnel = await askForTunnel(proxy, `${url.hostname}:${portOf(url)}`, connectMs, cut.signal);
    return tunnel !== undefined && !isSecureUrl(url) ? tunnel : await connected(url, connectMs, cut.signal, tunnel);
  } catch (error) {
    tunnel?.destroy();
    const why = signal?.aborted
      ? 'given up by the caller'
      : cut.signal.aborted
        ? `no connection within ${connectMs} ms`
        : wordsOf(error as Error);
    throw new NotConnectedError(proxy === undefined ? why : `through the proxy ${proxy.name}: ${why}`, {
      cause: error,
    });
  }
}

function connected(url: URL, connectMs: number, signal: AbortSignal, over?: Socket): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  connectTo(url, connectMs, over, (error, socket) => {
    if (error !== null) reject(error);
    else if (signal.aborted) socket.destroy();
    else resolve(socket);
  });
  return unlessAborted(promise, signal);
}

/**
 * `over`: TLS begins on this socket, and it already leads to the host. undici's own deadline only
 * ends a socket that is not waited for any more.
 */
function connectTo(url: URL, connectMs: number, over: Socket | undefined, onSocket: buildConnector.Callback): void {
  const to = { host: url.host, hostname: bareHost(url.hostname), port: String(portOf(url)) };
  const protocol = isSecureUrl(url) ? 'https:' : 'http:';
  buildConnector({ timeout: 2 * connectMs, allowH2: false })(
    { ...to, protocol, ...(over && { httpSocket: over }) },
    onSocket,
  );
}

/**
 * Resolves when the proxy has answered 2xx; from then on the socket leads to `authority`
 * (`host:port`).
 */
async function askForTunnel(
  proxy: ProxyServer,
  authority: string,
  connectMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  const { authorization, url } = proxy;
  const client = new HttpClient(url.origin, {
    // By itself it would verify the name in the header `host`.
    connect: (_, onSocket) => connectTo(url, connectMs, undefined, onSocket),
    maxHeaderSize: 16_384,
  });
  try {
    const headers = { host: authority, ...(authorization && { 'proxy-authorization': authorization.reveal() }) };
    const { statusCode, socket } = await client.connect({ path: authority, headers, signal });
    // Stays on: an idle line that breaks must not take the process with it.
    socket.on('error', () => undefined);
    // Neither TLS nor HTTP begins at the server: bytes by now are the proxy's own.
    const isOpen = statusCode >= 200 && statusCode <= 299;
    if (isOpen && socket.readableLength === 0) return socket as Socket;
    socket.destroy();
    throw new Error(
      isOpen
        ? 'it sent bytes of its own into the tunnel'
        : `it answers CONNECT with ${statusCode}${hint(statusCode, proxy)}`,
    );
  } finally {
    // Not the socket that it gave away.
    void client.destroy();
  }
}

/** Happy eyeballs: one error for each address tried, and none of its own. */
function wordsOf(error: Error): string {
  return error instanceof AggregateError ? error.errors.map(({ message }: Error) => message).join(', ') : error.message;
}

function hint(status: number, { authorization }: ProxyServer): string {
  if (status === 407)
    return authorization === undefined
      ? ': it wants a user and password, in the address of the proxy'
      : ': it does not take the user and password in the address of the proxy; check both';
  return status === 403 ? ': it does not allow this address' : '';
}

import { request } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from './clock.ts';
import { isSecureUrl, type Proxies, type ProxyServer, portOf } from './proxies.ts';
import { bareHost } from './url-host.ts';
import { abortAfter } from './waiting.ts';

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
  const opened: Socket[] = [];
  using cut = abortAfter(clock, connectMs, 'the connection', ...(signal === undefined ? [] : [signal]));
  try {
    if (proxy === undefined) return await connected(url, cut.signal, opened);
    const toProxy = await connected(proxy.url, cut.signal, opened);
    await askForTunnel(toProxy, proxy, `${url.hostname}:${portOf(url)}`, cut.signal);
    return isSecureUrl(url) ? await connected(url, cut.signal, opened, toProxy) : toProxy;
  } catch (error) {
    for (const socket of opened) socket.destroy();
    const why = signal?.aborted
      ? 'given up by the caller'
      : cut.signal.aborted
        ? `no connection within ${connectMs} ms`
        : (error as Error).message;
    throw new NotConnectedError(proxy === undefined ? why : `through the proxy ${proxy.name}: ${why}`, {
      cause: error,
    });
  }
}

/** `over`: TLS begins on this socket, and it already leads to the host. */
function connected(url: URL, signal: AbortSignal, opened: Socket[], over?: Socket): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  if (signal.aborted) return Promise.reject(signal.reason);
  const host = bareHost(url.hostname);
  const isSecure = isSecureUrl(url);
  const to = over === undefined ? { host, port: portOf(url) } : { socket: over };
  const name = isIP(host) === 0 ? { servername: host } : { host };
  const socket = isSecure
    ? connectTls({ ...name, ...to, ALPNProtocols: ['http/1.1'] })
    : connect({ host, port: portOf(url), noDelay: true });
  opened.push(socket);
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  // Stays on: an idle line that breaks must not take the process with it.
  socket.on('error', reject);
  socket.once('close', () => reject(new Error('the connection was closed')));
  socket.once(isSecure ? 'secureConnect' : 'connect', () => resolve(socket.setNoDelay(true)));
  return promise.finally(() => signal.removeEventListener('abort', onAbort));
}

/**
 * Resolves when the proxy has answered 2xx; from then on the socket leads to `authority`
 * (`host:port`).
 */
function askForTunnel(socket: Socket, proxy: ProxyServer, authority: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const asked = request({
    createConnection: () => socket,
    method: 'CONNECT',
    path: authority,
    headers: {
      host: authority,
      connection: 'keep-alive',
      ...(proxy.authorization && { 'proxy-authorization': proxy.authorization.reveal() }),
    },
    setHost: false,
    maxHeaderSize: 16_384,
  });
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  asked.on('error', (error) =>
    reject(new Error(`its answer to CONNECT can't be used: ${error.message}`, { cause: error })),
  );
  asked.once('close', () => reject(new Error('the connection was closed')));
  asked.once('connect', ({ statusCode = 0 }, _, head: Buffer) => {
    if (statusCode < 200 || statusCode > 299)
      reject(new Error(`it answers CONNECT with ${statusCode}${hint(statusCode, proxy)}`));
    // Neither TLS nor HTTP begins at the server: these bytes are the proxy's own.
    else if (head.length > 0) reject(new Error('it sent bytes of its own into the tunnel'));
    else resolve();
  });
  asked.end();
  return promise.finally(() => signal.removeEventListener('abort', onAbort));
}

function hint(status: number, { authorization }: ProxyServer): string {
  if (status === 407)
    return authorization === undefined
      ? ': it wants a user and password, in the address of the proxy'
      : ': it does not take the user and password in the address of the proxy; check both';
  return status === 403 ? ': it does not allow this address' : '';
}

import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { systemClock } from '../../../src/runtime/clock.ts';
import { atEnd } from '../commands/at-end.ts';

/** What a proxy does with a CONNECT. */
export type ProxyManner =
  | 'pass'
  /** Its answer comes byte by byte. */
  | 'slow'
  | 'silent'
  | 'garbage'
  /** Ends as soon as somebody connects. */
  | 'dies_at_once'
  /** Ends in the middle of its answer. */
  | 'dies_answering'
  /** Answers 200 and ends. */
  | 'dies_after'
  /** Answers 200 and sends bytes that no server sent. */
  | 'speaks'
  | { readonly status: number };

interface ConnectProxyOptions {
  readonly manner?: ProxyManner;
  /**
   * The port on 127.0.0.1 to which a tunnel for `host:port`
   * leads. Undefined: it is refused with 502.
   */
  readonly portOf: (authority: string) => number | undefined;
  /** Clients speak TLS with the proxy itself. */
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer };
}

/**
 * A proxy on a real socket that knows CONNECT alone, and leads every name where
 * the test says: the names need not exist.
 */
export async function connectProxy({ manner = 'pass', portOf, tls }: ConnectProxyOptions) {
  const asked: string[] = [];
  const heads: string[] = [];
  /** Bytes of clients after their CONNECT, while no tunnel was open. */
  let stray = 0;
  const sockets = new Set<Socket>();
  const serve = (client: Socket) => {
    sockets.add(client);
    client.on('error', () => undefined);
    client.on('close', () => sockets.delete(client));
    if (manner === 'dies_at_once') return client.destroy();
    let head = '';
    const onData = (bytes: Buffer) => {
      if (head.includes('\r\n\r\n')) {
        stray += bytes.length;
        return;
      }
      head += bytes.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      heads.push(head);
      const [method = '', authority = ''] = head.split(' ');
      asked.push(`${method} ${authority}`);
      const port = portOf(authority);
      if (typeof manner === 'object' || method !== 'CONNECT' || port === undefined)
        return client.write(
          `HTTP/1.1 ${typeof manner === 'object' ? manner.status : 502} No\r\nContent-Length: 2\r\n\r\nno`,
        );
      if (manner === 'silent') return undefined;
      if (manner === 'garbage') return client.write('SSH-2.0-OpenSSH_9.6\r\n');
      if (manner === 'dies_answering') return client.end('HTTP/1.1 200 Conn');
      if (manner === 'dies_after') return client.end('HTTP/1.1 200 OK\r\n\r\n');
      if (manner === 'speaks')
        return client.write('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
      client.off('data', onData);
      return void tunnel(client, port);
    };
    client.on('data', onData);
  };
  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  server.on('tlsClientError', () => undefined);
  const tunnel = async (client: Socket, port: number) => {
    client.pause();
    const there = connect({ host: '127.0.0.1', port });
    there.on('error', () => client.destroy());
    sockets.add(there);
    there.on('close', () => {
      sockets.delete(there);
      client.destroy();
    });
    client.on('close', () => there.destroy());
    const answer = 'HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n';
    for (const piece of manner === 'slow' ? answer : [answer])
      await new Promise<void>((resolve) => client.write(piece, () => systemClock.after(0, resolve)));
    client.pipe(there);
    there.pipe(client);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port,
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    asked,
    heads,
    get stray() {
      return stray;
    },
  };
}

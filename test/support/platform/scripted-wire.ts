import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

interface Wire {
  readonly url: string;
  /** Connections that were accepted. */
  readonly connections: number;
  /** Everything that came on each of them. */
  readonly received: readonly string[];
  /** Request lines that came, over all connections. */
  readonly requests: number;
}

const requestLine = /^(?:GET|POST|PATCH|PUT|DELETE) \S+ HTTP\/1\.1\r$/gm;

/**
 * A bare TCP server: `play` does with each connection what the test says,
 * `bytes` being all that came on it so far.
 */
export async function scriptedWire(play: {
  readonly onConnect?: (socket: Socket) => void;
  readonly onBytes?: (socket: Socket, bytes: string, chunk: number) => void;
}): Promise<Wire> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const index = received.push('') - 1;
    let chunk = 0;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (data) => {
      received[index] += data.toString('latin1');
      chunk += 1;
      play.onBytes?.(socket, received[index] ?? '', chunk);
    });
    play.onConnect?.(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    get connections() {
      return received.length;
    },
    get requests() {
      return received.reduce((count, text) => count + (text.match(requestLine)?.length ?? 0), 0);
    },
  };
}

/** Whether the bytes are a whole request, body and all. */
export function wholeRequest(bytes: string): boolean {
  const end = bytes.indexOf('\r\n\r\n');
  return end !== -1 && bytes.length >= end + 4 + Number(/content-length: (\d+)/i.exec(bytes)?.[1] ?? 0);
}

/** An HTTP/1.1 answer as bytes. */
export function httpAnswer(status: number, body: string, headers: Record<string, string> = {}): string {
  const head = Object.entries({
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  });
  return `HTTP/1.1 ${status} X\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

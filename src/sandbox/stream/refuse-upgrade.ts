import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** Answers an upgrade with plain HTTP and ends the connection. */
export function refuseUpgrade(socket: Duplex, status: number, body: string, type = 'application/json'): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    'connection: close',
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...(status === 401 ? ['www-authenticate: Bearer'] : []),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

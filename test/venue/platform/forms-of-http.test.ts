import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { fixedToken, writeDeps, writes } from '../../support/commands/order-writes.ts';
import { scriptedWire, wholeRequest } from '../../support/platform/scripted-wire.ts';

const length = (body: string) => Buffer.byteLength(body);
const plain = (status: number, body: string) =>
  `HTTP/1.1 ${status} X\r\ncontent-length: ${length(body)}\r\n\r\n${body}`;

/**
 * One answer in each form; a gateway may use any of them (RFC 9110, RFC 9112). Not here: a 100 that
 * nobody asked for. Writes read on behind it; undici, which serves the reads, ends the connection.
 */
const forms: readonly (readonly [string, (status: number, body: string) => string])[] = [
  ['102 Processing before it', (status, body) => `HTTP/1.1 102 Processing\r\n\r\n${plain(status, body)}`],
  [
    '103 Early Hints, twice',
    (status, body) => `${'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(2)}${plain(status, body)}`,
  ],
  ['HTTP/1.0, to the end of the connection', (status, body) => `HTTP/1.0 ${status} X\r\n\r\n${body}`],
  ['no reason phrase', (status, body) => `HTTP/1.1 ${status} \r\ncontent-length: ${length(body)}\r\n\r\n${body}`],
  ['Connection: close, without a length', (status, body) => `HTTP/1.1 ${status} X\r\nconnection: close\r\n\r\n${body}`],
  [
    'header names in capitals',
    (status, body) =>
      `HTTP/1.1 ${status} X\r\nCONTENT-LENGTH: ${length(body)}\r\nCONTENT-TYPE: TEXT/PLAIN\r\n\r\n${body}`,
  ],
  [
    'chunks with extensions and trailers',
    (status, body) =>
      `HTTP/1.1 ${status} X\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n1;a=b\r\n${body[0]}\r\n${(length(body) - 1).toString(16).toUpperCase()}\r\n${body.slice(1)}\r\n0\r\nx-sum: 1\r\n\r\n`,
  ],
];

describe.each(forms)('an answer with %s', (_form, formOf) => {
  it('is read', async () => {
    const text = '{"orders":[],"nextCursor":null}';
    const wire = await scriptedWire({
      onBytes: (socket, bytes) => wholeRequest(bytes) && socket.end(formOf(200, text)),
    });
    const http = new UndiciHttp({ clock: systemClock }, { totalMs: 5_000 });
    onTestFinished(() => http.close());
    const result = await http.request({ operation: 'test', method: 'GET', url: `${wire.url}/`, headers: {} });
    expect(result).toMatchObject({ kind: 'answered', status: 200, text });
  });

  it.each(Object.entries(writes))('accepts %s', async (_name, write) => {
    const wire = await scriptedWire({
      onBytes: (socket, bytes) => wholeRequest(bytes) && socket.end(formOf(write.status, write.answer)),
    });
    expect(await write.run(writeDeps(fixedToken()), wire.url)).toMatchObject({ kind: 'accepted' });
    expect(wire.requests).toBe(1);
  });
});

// What a user saw: Behind a gateway that compresses, no list could be read, and every place became unknown.

import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { decodeBody } from '../../../src/venue/platform/decode-body.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { fixedToken, writeDeps, writes } from '../../support/commands/order-writes.ts';
import { scriptedWire, wholeRequest } from '../../support/platform/scripted-wire.ts';

const codings: readonly (readonly [string, (text: string) => Buffer])[] = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['identity', (text) => Buffer.from(text)],
  ['', (text) => Buffer.from(text)],
  ['deflate, gzip', (text) => gzipSync(deflateSync(text))],
  // A proxy that decodes the body and leaves the header.
  ['gzip', (text) => Buffer.from(text)],
  ['aws-chunked', (text) => Buffer.from(text)],
];

function head(status: number, coding: string, body: Buffer): string {
  return `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\ncontent-encoding: ${coding}\r\ncontent-length: ${body.length}\r\n\r\n`;
}

/** Asks once as a read of the platform does. */
async function read(status: number, coding: string, body: Buffer, maxBodyBytes = 100_000) {
  const wire = await scriptedWire({
    onBytes: (socket, bytes) => {
      if (!wholeRequest(bytes)) return;
      socket.write(head(status, coding, body));
      socket.write(body);
    },
  });
  const http = new UndiciHttp({ clock: systemClock }, { maxBodyBytes });
  onTestFinished(() => http.close());
  const outcome = await http.request({ operation: 'test', method: 'GET', url: `${wire.url}/`, headers: {} });
  return { outcome, asked: wire.received[0] ?? '' };
}

describe('an answer with a content coding that nobody asked for', () => {
  it.each(codings)('is read: %s (%#)', async (coding, compress) => {
    const text = JSON.stringify({ orders: [], words: 'É 東京'.repeat(50) });
    const { outcome, asked } = await read(200, coding, compress(text));
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, text });
    expect(asked.toLowerCase()).toContain('accept-encoding: identity');
  });

  it('is bounded by what it holds, not by what came', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const { outcome } = await read(200, 'gzip', bomb);
    expect(outcome).toMatchObject({
      kind: 'failed',
      code: 'too_large',
      message: 'the answer has more than 100000 bytes',
    });
  });

  it.each([
    ['compress', gzipSync('{}')],
    ['gzip, gzip, gzip', gzipSync(gzipSync(gzipSync('{}')))],
    ['gzip', gzipSync('{"a":"bbbbbbbbbbb"}').subarray(0, 20)],
    ['constructor', gzipSync('{}')],
  ])('is named if it can not be read: %s', async (coding, body) => {
    const { outcome } = await read(200, coding, body);
    expect(outcome).toMatchObject({
      ...{ kind: 'failed', code: 'bad_coding', sent: 'maybe' },
      message: `the answer can't be decoded: its content-encoding is ${coding}`,
    });
  });

  it('is empty if it has no body', async () => {
    expect((await read(200, 'gzip', Buffer.alloc(0))).outcome).toMatchObject({ kind: 'answered', text: '' });
    expect(await decodeBody(Buffer.alloc(0), ['gzip', 'br'], 10)).toEqual({ ok: true, text: '' });
  });
});

describe.each(Object.entries(writes))('%s behind such a gateway', (_name, write) => {
  it.each(codings)('is accepted as without: %s (%#)', async (coding, compress) => {
    const body = compress(write.answer);
    const wire = await scriptedWire({
      onBytes: (socket, bytes) => {
        if (!wholeRequest(bytes)) return;
        socket.write(head(write.status, coding, body));
        socket.end(body);
      },
    });
    expect(await write.run(writeDeps(fixedToken()), wire.url)).toMatchObject({ kind: 'accepted' });
    expect(wire.received[0]?.toLowerCase()).toContain('accept-encoding: identity');
    expect(wire.requests).toBe(1);
  });

  it('is unknown, and never repeated, if the answer can not be read', async () => {
    const wire = await scriptedWire({
      onBytes: (socket, bytes) => {
        if (!wholeRequest(bytes)) return;
        const body = gzipSync(write.answer).subarray(0, 30);
        socket.write(head(write.status, 'gzip', body));
        socket.end(body);
      },
    });
    expect(await write.run(writeDeps(fixedToken()), wire.url)).toMatchObject({
      kind: 'unknown',
      reason: { message: "the answer can't be decoded: its content-encoding is gzip" },
    });
    expect(wire.requests).toBe(1);
  });
});

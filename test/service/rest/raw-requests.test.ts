import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRest } from '../../support/rest/rest-rig.ts';
import { accountBody } from '../../support/rest/route-samples.ts';
import { sendRaw } from '../../support/servers/raw-socket.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
beforeAll(async () => {
  rig = await startRest();
});
afterAll(() => rig.server.drain(new AbortController().signal));

const body = JSON.stringify(accountBody);
const host = 'Host: localhost\r\n';
const place = `POST /v1/orders HTTP/1.1\r\n${host}Content-Type: application/json\r\nIdempotency-Key: k\r\n`;

/** Every status line of what was answered. */
const statuses = (answer: string) => [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

describe('a request that could be read in two ways', () => {
  it.each<[string, string]>([
    ['two lengths', `${place}Content-Length: ${body.length}\r\nContent-Length: 5\r\n\r\n${body}`],
    [
      'the same length twice',
      `${place}Content-Length: ${body.length}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ],
    ['a length and chunks', `${place}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${place}`],
    ['chunks and a length', `${place}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${place}`],
    ['chunks that are not the last coding', `${place}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['a coding with a blank before the colon', `${place}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['two hosts', `GET /v1/orders HTTP/1.1\r\n${host}Host: other\r\nConnection: close\r\n\r\n`],
    [
      'two tokens',
      `GET /v1/orders HTTP/1.1\r\n${host}Authorization: Bearer a\r\nAuthorization: Bearer b\r\nConnection: close\r\n\r\n`,
    ],
    [
      'two keys',
      `${place}Idempotency-Key: other\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ],
    [
      'two conditions',
      `DELETE /v1/orders/o?accountId=a HTTP/1.1\r\n${host}If-Match: "1"\r\nIf-Match: "2"\r\nConnection: close\r\n\r\n`,
    ],
    ['no host', 'GET /v1/orders HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a folded header', `GET /v1/orders HTTP/1.1\r\n${host}X: a\r\n b\r\nConnection: close\r\n\r\n`],
    ['a length that is no number', `${place}Content-Length: 0x10\r\n\r\n${body}`],
    ['a bare line feed in a header', `GET /v1/orders HTTP/1.1\r\n${host}X: a\nHost: b\r\nConnection: close\r\n\r\n`],
    ['NUL in a header', `GET /v1/orders HTTP/1.1\r\n${host}X: a\0b\r\nConnection: close\r\n\r\n`],
    ['a chunk size that is no number', `${place}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`],
    ['not HTTP', '\u0016\u0003\u0001 hello\r\n\r\n'],
    ['HTTP/2 without an upgrade', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ])('%s: is refused once, and the connection ends', async (_what, bytes) => {
    expect(statuses(await sendRaw(rig.address, bytes))).toEqual([400]);
    expect(rig.commands.submissions).toEqual([]);
  });

  it('is told in the words of every other error', async () => {
    const answer = await sendRaw(rig.address, 'nonsense\r\n\r\n');
    expect(answer).toContain('Content-Type: application/problem+json');
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({
      status: 400,
      code: 'NOT_HTTP',
      retryable: false,
    });
  });
});

describe('the limits of a request', () => {
  const close = 'Connection: close\r\n\r\n';

  it('a header block over 8 KiB is refused', async () => {
    const answer = await sendRaw(rig.address, `GET /v1/orders HTTP/1.1\r\n${host}X: ${'x'.repeat(9000)}\r\n\r\n`);
    expect(statuses(answer)).toEqual([431]);
    expect(answer).toContain('HEADERS_TOO_LARGE');
  });

  it('64 headers are read, and one more is refused rather than dropped', async () => {
    const get = (count: number) =>
      sendRaw(rig.address, `GET /v1/orders HTTP/1.1\r\n${host}${'X: x\r\n'.repeat(count - 2)}${close}`);
    expect(statuses(await get(64))).toEqual([200]);
    expect(statuses(await get(65))).toEqual([431]);
  });

  it('a URL of 2 KiB is read, and a longer one refused', async () => {
    const get = (length: number) =>
      sendRaw(rig.address, `GET ${'/nothing'.padEnd(length, 'x')} HTTP/1.1\r\n${host}${close}`);
    expect(statuses(await get(2048))).toEqual([404]);
    expect(statuses(await get(2049))).toEqual([414]);
  });

  it('a body that is announced as too large is refused without being waited for', async () => {
    const answer = await sendRaw(rig.address, `${place}Content-Length: 10000000\r\n\r\n[[[[`);
    expect(statuses(answer)).toEqual([413]);
  });

  it('a body in chunks is refused when it has become too large', async () => {
    const chunk = `2000\r\n${' '.repeat(0x2000)}\r\n`;
    const answer = await sendRaw(rig.address, `${place}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(5)}`);
    expect(statuses(answer)).toEqual([413]);
  });

  // Each of these waits for a deadline of the server: side by
  // side, since one after the other took 20 s.
  it.concurrent('headers that never end close the connection', async () => {
    expect(statuses(await sendRaw(rig.address, `GET /v1/orders HTTP/1.1\r\n${host}`))).toEqual([408]);
  });

  it.concurrent('headers that drip close the connection', async () => {
    const parts = Array.from({ length: 40 }, (_, i) => `X-${i}: x\r\n`);
    const answer = await sendRaw(rig.address, `GET /v1/orders HTTP/1.1\r\n${host}`, { drip: { everyMs: 250, parts } });
    expect(statuses(answer)).toEqual([408]);
  });

  it.concurrent('a body that drips closes the connection, and nothing is sent for it', async () => {
    const parts = [...body].map((char) => char);
    const answer = await sendRaw(rig.address, `${place}Content-Length: ${body.length}\r\n\r\n`, {
      drip: { everyMs: 150, parts },
    });
    expect(statuses(answer)).toEqual([408]);
    expect(rig.commands.submissions).toEqual([]);
  });
});

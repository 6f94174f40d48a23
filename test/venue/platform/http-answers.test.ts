import type { ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { databaseFix, databaseTrouble } from '../../../src/cli/with-database.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { HttpRequest } from '../../../src/venue/http.ts';
import { decodeBody } from '../../../src/venue/platform/decode-body.ts';
import { decodeFrame } from '../../../src/venue/platform/decode-frame.ts';
import { exchangeToken } from '../../../src/venue/platform/exchange-token.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { rawPredictionAnswer } from '../../../src/venue/platform/wire/order-pages.ts';
import { orderResponse } from '../../../src/venue/platform/wire/order-writes.ts';
import { readAccountItem } from '../../../src/venue/platform/wire/user.ts';
import { fixedToken, writeDeps, writes } from '../../support/commands/order-writes.ts';
import { scriptedWire, wholeRequest } from '../../support/platform/scripted-wire.ts';
import { wireSubjects } from '../../support/platform/wire-subjects.ts';
import { rowsOf } from '../../support/platform/wire-variations.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

describe('issue: Behind a gateway that compresses, no list could be read, and every place became unknown.', () => {
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
    const result = await http.request({ operation: 'test', method: 'GET', url: `${wire.url}/`, headers: {} });
    return { result, asked: wire.received[0] ?? '' };
  }

  describe('an answer with a content coding that nobody asked for', () => {
    it.each(codings)('is read: %s (%#)', async (coding, compress) => {
      const text = JSON.stringify({ orders: [], words: 'É 東京'.repeat(50) });
      const { result, asked } = await read(200, coding, compress(text));
      expect(result).toMatchObject({ kind: 'answered', status: 200, text });
      expect(asked.toLowerCase()).toContain('accept-encoding: identity');
    });

    it('is bounded by what it holds, not by what came', async () => {
      const bomb = gzipSync(Buffer.alloc(50_000_000));
      const { result } = await read(200, 'gzip', bomb);
      expect(result).toMatchObject({
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
      const { result } = await read(200, coding, body);
      expect(result).toMatchObject({
        ...{ kind: 'failed', code: 'bad_coding', sent: 'maybe' },
        message: `the answer can't be decoded: its content-encoding is ${coding}`,
      });
    });

    it('is empty if it has no body', async () => {
      expect((await read(200, 'gzip', Buffer.alloc(0))).result).toMatchObject({ kind: 'answered', text: '' });
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
        reason: {
          message: "it may have reached the platform: the answer can't be decoded: its content-encoding is gzip",
        },
      });
      expect(wire.requests).toBe(1);
    });
  });
});

describe('issue: Every place was refused without a quote, since the platform answered "OK" and not "ok".', () => {
  function subjectOf(name: string) {
    const subject = wireSubjects.find((each) => each.name === name);
    if (subject === undefined) throw new Error(`no subject ${name}`);
    return subject;
  }

  // Servers on .NET write a mark before their JSON: no list was read, and each write was unknown.
  describe('an answer with a byte order mark before it', () => {
    const marked = (answer: string) => (_: unknown, response: ServerResponse) => void response.end(`\ufeff${answer}`);

    it('is read', async () => {
      const { url, close } = await scriptedServer(marked('{"a":"\ufeff"}'));
      onTestFinished(close);
      const http = new UndiciHttp({ clock: systemClock });
      onTestFinished(() => http.close());
      const result = await http.request({ operation: 'test', method: 'GET', url, headers: {} });
      expect(result).toMatchObject({ kind: 'answered', text: '{"a":"\ufeff"}' });
    });

    it.each(Object.entries(writes))('tells the result of %s', async (_name, { answer, status, run }) => {
      const { url, close } = await scriptedServer((request, response) => {
        response.statusCode = status;
        marked(answer)(request, response);
      });
      onTestFinished(close);
      expect(await run(writeDeps(), url)).toMatchObject({ kind: 'accepted' });
    });
  });

  describe('a word means the same in any case', () => {
    it.each([
      ['quotes', 's', ['OK', 'Ok', ' ok ']],
      ['quotes of options', 'status', ['ok', 'Ok']],
      ['previous day', 'status', ['ok', 'Ok']],
    ])('%s: %s', async (name, field, words) => {
      const subject = subjectOf(name);
      const plain = await subject.read(subject.answer);
      for (const word of words) {
        const text = JSON.stringify({ ...(JSON.parse(subject.answer) as object), [field]: word });
        expect((await subject.read(text)).word, word).toBe(plain.word);
      }
      const refused = JSON.stringify({ ...(JSON.parse(subject.answer) as object), [field]: 'okay' });
      expect((await subject.read(refused)).word).toContain('BAD_ANSWER');
    });

    // "False" was read as a success of a prediction order.
    it.each(['False', 'FALSE', ' false '])('success %j is a no', (success) => {
      expect(rawPredictionAnswer.safeParse({ success, data: {} }).success).toBe(false);
      expect(orderResponse.parse({ success }).success).toBe(false);
    });

    it.each(['True', 'TRUE'])('and %j a yes', (word) => {
      expect(rawPredictionAnswer.safeParse({ success: word, data: {} }).success).toBe(true);
      expect(orderResponse.parse({ success: word }).success).toBe(true);
      expect(readAccountItem({ trading_account_id: 'a', status: 'OPEN', is_sim: word })).toMatchObject({
        is_sim: true,
      });
    });
  });

  describe('a frame', () => {
    it('may give back the id of a subscription as a number', () => {
      expect(decodeFrame('{"type":"subscribed","id":7}')).toEqual({ kind: 'subscribed', id: '7' });
      expect(decodeFrame('{"type":"error","id":7,"payload":null}')).toMatchObject({ kind: 'error', id: '7' });
    });

    it.each(['', ',"target":null', ',"target":""'])('without a target is its row’s account’s: %j', (target) => {
      const event = (row: object) =>
        decodeFrame(`{"type":"event","payload":{"topic":"account"${target},"data":${JSON.stringify(row)}}}`);
      expect(event({ ordId: 'o', accountId: 'acct-1' })).toMatchObject({ kind: 'event', accountId: 'acct-1' });
      expect(event({ ordId: 'o' })).toMatchObject({ kind: 'unreadable', reason: 'bad_target', stream: 'account' });
    });
  });
});

describe('issue: A read failed, or a forwarded place was unanswered, as a server closed an idle socket.', () => {
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
  });

  const whole = 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=60\r\ncontent-length: 2\r\n\r\nok';
  const torn = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf';

  /** Keeps each connection for one answer, and does `next` with it at the second request. */
  async function serverThatCloses(next: (socket: Socket) => void) {
    const requests: string[] = [];
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      const connection = connections;
      let answered = false;
      socket.on('error', () => undefined);
      socket.on('data', (data) => {
        requests.push(`${connection}: ${String(data).split(' HTTP')[0]}`);
        if (answered) next(socket);
        else socket.write(whole);
        answered = true;
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const client = new UndiciHttp({ clock: systemClock }, { connections: 1 });
    closers.push(async () => {
      await client.close();
      await new Promise((resolve) => server.close(resolve));
    });
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    const ask = (method: HttpRequest['method'], path: string) =>
      client.request({ operation: 'test', method, url: url + path, headers: {} });
    return { ask, requests };
  }

  it.each([
    ['ends', (socket: Socket) => socket.end()],
    ['resets', (socket: Socket) => socket.resetAndDestroy()],
  ] as const)('a GET is made again at once, on a new connection, when the server %s a kept one', async (_, next) => {
    const { ask, requests } = await serverThatCloses(next);
    await ask('GET', '/a');
    expect(await ask('GET', '/b')).toMatchObject({ kind: 'answered', text: 'ok' });
    expect(requests).toEqual(['1: GET /a', '1: GET /b', '2: GET /b']);
  });

  it('a GET is not made again once a part of its answer came', async () => {
    const { ask, requests } = await serverThatCloses((socket) => socket.end(torn));
    await ask('GET', '/a');
    expect(await ask('GET', '/b')).toMatchObject({ kind: 'failed', code: 'broken', sent: 'maybe' });
    expect(requests).toEqual(['1: GET /a', '1: GET /b']);
  });

  it.each(['POST', 'PATCH', 'DELETE'] as const)('a %s goes on a connection that nothing else used', async (method) => {
    const { ask, requests } = await serverThatCloses((socket) => socket.resetAndDestroy());
    await ask('GET', '/a');
    expect(await ask(method, '/b')).toMatchObject({ kind: 'answered', text: 'ok' });
    expect(await ask(method, '/c')).toMatchObject({ kind: 'answered', text: 'ok' });
    expect(requests).toEqual(['1: GET /a', `2: ${method} /b`, `3: ${method} /c`]);
  });
});

describe('issue: An account never became live where the platform sent null for a field that may be missing.', () => {
  // An account never got live, no token was had, every place was refused and a rejected place
  // stayed unknown, where the platform sent null or an empty text for a field that it may leave
  // out.

  it.each([
    ['page of account orders', 'nextCursor', 'complete, one page'],
    ['page of prediction orders', 'data.nextCursor', 'complete, one page'],
    ['token', 'refresh_token', 'without'],
    ['token', 'scope', 'without'],
    ['quotes', 'd.0.v.bid', 'without'],
    ['quotes', 'd.0.v.description', 'without'],
    ['rejected place', 'avgPrice', 'without'],
    ['rejected place', 'text', 'without'],
    ['refused replace (400)', 'error.message', 'without'],
    ['answer to placePredictionOrder', 'data.leavesQty', 'without'],
  ])('%s: %s as null or "" reads as left out', async (name, field, result) => {
    const subject = wireSubjects.find((each) => each.name === name);
    if (subject === undefined) throw new Error(`no subject ${name}`);
    const row = (await rowsOf(subject)).find((each) => each.field === field);
    expect(row?.cells).toMatchObject({ absent: result, null: result, empty: result });
  });

  it('an empty page may come as null', async () => {
    for (const subject of wireSubjects.filter(({ name }) => name.startsWith('page of '))) {
      const orders = (await rowsOf(subject)).find(({ field }) => field.endsWith('orders'));
      expect(orders?.cells.null).toBe('without');
    }
  });
});

describe('issue: A wrong setting gave an error message that named neither the setting nor its value.', () => {
  const missing = (): never => {
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  };

  function said(env: Record<string, string>): string[] {
    const loaded = loadConfig(env, missing);
    return [...(loaded.ok ? [] : loaded.faults.map(({ name, problem }) => `${name} ${problem}`)), ...loaded.warnings];
  }

  describe('a setting that is wrong', () => {
    it.each<[string, Record<string, string>, RegExp[]]>([
      [
        'a file that is not there',
        { DATABASE_URL_FILE: '/run/secrets/databse-url' },
        [/, \/run\/secrets\/databse-url: there is no such file/],
      ],
      [
        'an sslmode that there is not',
        { DATABASE_URL: 'postgres://db/t?sslmode=verifyfull' },
        [/"verifyfull".*verify-full/],
      ],
      [
        'a name with one letter less',
        { PLATFORM_STAGIN_URL: 'https://s' },
        [/^PLATFORM_STAGIN_URL .*PLATFORM_STAGING_URL\?$/],
      ],
      [
        'the same beside the right one',
        { PLATFORM_STAGIN_URL: 'https://s', PLATFORM_STAGING_URL: 'https://s' },
        [/^PLATFORM_STAGIN_URL is not an option and has no effect; did you mean PLATFORM_STAGING_URL\?$/],
      ],
      [
        'the name of another family',
        { KAFKA_TOPIC_PREFIX: 'desk' },
        [/^KAFKA_TOPIC_PREFIX .*TIDEMARK_TOPIC_PREFIX\?$/],
      ],
      [
        'a name of another family for a pool',
        { DATABASE_POOL_SIZE: '5' },
        [/^DATABASE_POOL_SIZE .*TIDEMARK_DATABASE_POOL_SIZE\?$/],
      ],
      [
        'names of other programs',
        { KAFKA_HEAP_OPTS: '-Xmx1g', KAFKA_LOG_DIRS: '/k', DATABASE_HOST: 'db', PLATFORM_NAME: 'x' },
        [],
      ],
    ])('%s', (_name, env, expected) => {
      const lines = said(env);
      expect(lines).toHaveLength(expected.length);
      for (const [index, pattern] of expected.entries()) expect(lines[index]).toMatch(pattern);
    });

    it.each(['hunter2', `/${'q'.repeat(43)}`, 'postgres://u:p@db/t', '-----BEGIN KEY-----'])(
      'is not shown where it may be a secret: %s',
      (value) => {
        expect(said({ TIDEMARK_ENCRYPTION_KEY_FILE: value }).join()).not.toContain(value);
      },
    );
  });

  describe('a token that does not come', () => {
    async function refused(status: number, body: object | string): Promise<{ url: string; message: string }> {
      const server = await scriptedServer((_request, response) =>
        typeof body === 'string'
          ? void response.writeHead(status, { 'content-type': 'text/html' }).end(body)
          : json(response, status, body),
      );
      const http = new UndiciHttp({ clock: systemClock });
      onTestFinished(async () => {
        await http.close();
        await server.close();
      });
      const credential = { clientId: 'client', clientSecret: new Secret('hush') };
      const result = await exchangeToken({ http, clock: systemClock }, `${server.url}/api`, credential, {
        kind: 'client_credentials',
      });
      if (result.ok) throw new Error('a token came');
      return { url: server.url, message: result.error.message };
    }

    it('names the field that an answer lacks', async () => {
      const { url, message } = await refused(200, {});
      expect(message).toContain(`${url}/api/v1/oauth2/token answers 200, and not as a token endpoint does: `);
      expect(message).toContain('access_token');
    });

    it.each<[number, object | string]>([
      [404, '<html>'],
      [502, ''],
      [404, { detail: 'nothing here' }],
    ])('is the address and what it answers (%s)', async (status, body) => {
      const { url, message } = await refused(status, body);
      expect(message).toBe(`${url}/api/v1/oauth2/token answers ${status}, and not as a token endpoint does`);
    });

    it('says what a word of the standard means, and keeps it', async () => {
      const { message } = await refused(401, { error: 'invalid_client', error_description: 'no such client' });
      expect(message).toBe(
        'the platform does not know the client id, or its secret is another one (invalid_client: no such client)',
      );
    });
  });

  it('a database without TLS is one that answers', () => {
    const error = new Error('The server does not support SSL connections');
    expect(databaseTrouble(error)).toMatch(/^answers, and has no TLS, which sslmode in DATABASE_URL asks for/);
    expect(databaseFix(error)).toMatch(/ssl = on/);
    expect(databaseTrouble(new Error('timeout expired'))).toMatch(/^does not answer/);
  });
});

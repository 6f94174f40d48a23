import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { HttpRequest } from '../../../src/venue/http.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { json, type ScriptedServer, scriptedServer } from '../../support/servers/http-server.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

function http(options: ConstructorParameters<typeof UndiciHttp>[1] = {}): UndiciHttp {
  const made = new UndiciHttp({ clock: systemClock }, options);
  closers.push(() => made.close());
  return made;
}

async function server(...args: Parameters<typeof scriptedServer>): Promise<ScriptedServer> {
  const made = await scriptedServer(...args);
  closers.push(made.close);
  return made;
}

const get = (url: string, over: Partial<HttpRequest> = {}): HttpRequest => ({
  operation: 'test',
  method: 'GET',
  url,
  headers: {},
  ...over,
});

describe('UndiciHttp', () => {
  it('hands over status, headers and body, and reveals a secret only on the wire', async () => {
    const { url, received } = await server((_, response) => json(response, 200, { a: 1 }, { 'retry-after': '3' }));
    const result = await http().request(get(`${url}/x?y=1`, { headers: { authorization: new Secret('Bearer t') } }));
    expect(result).toMatchObject({ kind: 'answered', status: 200, text: '{"a":1}', headers: { 'retry-after': '3' } });
    expect(received[0]).toMatchObject({ path: '/x?y=1', headers: { authorization: 'Bearer t' } });
  });

  it('does not follow a redirect', async () => {
    const { url, received } = await server((_, response) => json(response, 302, {}, { location: '/elsewhere' }));
    expect(await http().request(get(url))).toMatchObject({ kind: 'answered', status: 302 });
    expect(received).toHaveLength(1);
  });

  it('says that nothing was sent when nobody listens or the name is unknown', async () => {
    expect(await http().request(get('http://127.0.0.1:1/'))).toMatchObject({
      kind: 'failed',
      code: 'connect',
      sent: 'no',
    });
    expect(await http().request(get('http://no-such-host.invalid/'))).toMatchObject({ kind: 'failed', sent: 'no' });
  });

  it('gives up a server that never answers, and one that drips, at the total deadline', async () => {
    const { url } = await server(async ({ path }, response) => {
      if (path === '/drip')
        for (let i = 0; i < 200 && !response.destroyed; i += 1) {
          response.write('x');
          await systemClock.sleep(10);
        }
    });
    const client = http({ totalMs: 150 });
    expect(await client.request(get(url))).toMatchObject({ kind: 'failed', code: 'deadline', sent: 'maybe' });
    expect(await client.request(get(`${url}/drip`))).toMatchObject({ kind: 'failed', code: 'deadline', sent: 'maybe' });
  });

  it('stops at the first byte beyond the bound', async () => {
    const { url } = await server((_, response) => void response.end('x'.repeat(50_000)));
    expect(await http({ maxBodyBytes: 10_000 }).request(get(url))).toMatchObject({ kind: 'failed', code: 'too_large' });
  });

  it('refuses an answer that is not UTF-8', async () => {
    const { url } = await server((_, response) => void response.end(Buffer.from([0x22, 0xff, 0x22])));
    expect(await http().request(get(url))).toMatchObject({ kind: 'failed', code: 'bad_utf8' });
  });

  it.each([401, 403])('takes a %d for one, also where its page is not UTF-8', async (status) => {
    const { url } = await server((_, response) => {
      response.statusCode = status;
      response.end(Buffer.from('acc\xe8s refus\xe9', 'latin1'));
    });
    expect(await http().request(get(url))).toMatchObject({ kind: 'answered', status, text: '' });
  });

  it('calls a torn answer, a reset and a non-HTTP answer broken, and sends each request once', async () => {
    let connections = 0;
    const raw = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined);
      socket.once('data', (data) => {
        if (data.includes('/torn')) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf');
        else if (data.includes('/html')) socket.end('<html>hello</html>');
        else socket.resetAndDestroy();
      });
    });
    await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
    closers.push(() => new Promise((resolve) => raw.close(resolve)));
    const url = `http://127.0.0.1:${(raw.address() as { port: number }).port}`;
    const client = http();
    for (const path of ['/torn', '/html', '/reset']) {
      expect(await client.request(get(`${url}${path}`))).toMatchObject({
        kind: 'failed',
        code: 'broken',
        sent: 'maybe',
      });
    }
    expect(connections).toBe(3);
  });

  it('stops when the caller gives up', async () => {
    const { url } = await server(() => undefined);
    const caller = new AbortController();
    const result = http().request(get(url, { signal: caller.signal }));
    caller.abort();
    expect(await result).toMatchObject({ kind: 'failed', code: 'aborted' });
  });
});

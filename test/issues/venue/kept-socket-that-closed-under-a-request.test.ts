// What a user saw: A read failed, or a forwarded place was unanswered, as a server closed an idle socket.

import { createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { HttpRequest } from '../../../src/venue/platform/http.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';

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

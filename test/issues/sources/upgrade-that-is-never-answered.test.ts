// What a user saw: Streams stayed down until a restart: the platform had never answered an upgrade.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { SocketEnd } from '../../../src/service/sources/socket.ts';
import { wsSocketDefaults, wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';

it('an upgrade that is answered with nothing but "processing" ends by our own clock', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 50);
    socket.on('close', () => clearInterval(timer));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const ended = Promise.withResolvers<SocketEnd>();
  const { port } = server.address() as AddressInfo;
  wsSocketFactory(systemClock, { ...wsSocketDefaults, openMs: 200 })(`ws://127.0.0.1:${port}`, new Secret('t1'), {
    onOpen: () => undefined,
    onFrame: () => undefined,
    onPong: () => undefined,
    onEnd: ended.resolve,
  });
  expect(await ended.promise).toMatchObject({ kind: 'failed', code: 'timeout' });
});

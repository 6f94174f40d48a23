// What a user saw: A cancel through a proxy was answered 503, and its token could have gone to another host.

import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { pathOf } from '../../../src/service/rest/request-headers.ts';
import { startRest } from '../../support/rest/rest-rig.ts';

it.each([
  ['/v1/orders?limit=1', '/v1/orders?limit=1'],
  ['http://desk:8080/v1/orders?limit=1', '/v1/orders?limit=1'],
  ['HTTPS://desk/v1/orders', '/v1/orders'],
  ['http://desk', '/'],
  ['http://desk?a=b', '/?a=b'],
  ['//desk/v1/orders', '//desk/v1/orders'],
  ['*', '*'],
])('%s asks for %s', (target, path) => {
  expect(pathOf(target)).toBe(path);
});

it('a request line with the whole address is the same request', async () => {
  const rig = await startRest();
  onTestFinished(() => rig.server.drain(new AbortController().signal));
  const { port } = new URL(rig.address);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(
    `GET http://127.0.0.1:${port}/v1/orders HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`,
  );
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /);
});

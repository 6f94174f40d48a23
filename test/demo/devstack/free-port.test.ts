import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { freePort } from '../../../src/demo/devstack/free-port.ts';

it('a free port can be listened on, and lies below the ports of outgoing connections', async () => {
  const port = await freePort();
  const server = createServer().listen({ host: '127.0.0.1', port });
  await once(server, 'listening');
  server.close();
  expect(port).toBeLessThan(32_768);
});

// What a user saw: The process ended when a token had a character that no HTTP header can carry.

import { expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { SocketEnd } from '../../../src/service/sources/socket.ts';
import { wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';

// Found by reading: `ws` throws where a header has an invalid character. The rejection went through
// the source's loop, which nobody awaits, and ended the process.
it('ends the socket like any other that could not be opened, and does not show the token', async () => {
  const end = await new Promise<SocketEnd>((onEnd) => {
    const socket = wsSocketFactory(systemClock)('ws://127.0.0.1:1', new Secret('canary\nvalue'), {
      onOpen: () => undefined,
      onFrame: () => undefined,
      onPong: () => undefined,
      onEnd,
    });
    socket.send('anything');
  });
  expect(end).toMatchObject({ kind: 'failed', code: 'connect' });
  expect(JSON.stringify(end)).not.toContain('canary');
});

import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { SocketEnd } from '../../../src/service/sources/socket.ts';
import { wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';
import { exchangeToken } from '../../../src/venue/platform/exchange-token.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { fixedToken, writeDeps, writes } from '../../support/commands/order-writes.ts';
import { scriptedWire, wholeRequest } from '../../support/platform/scripted-wire.ts';
import { eventually } from '../../support/runs/poll.ts';

it.each([301, 302, 303, 307, 308])(
  'a redirect with %d takes no token and no secret to another host',
  async (status) => {
    const other = await scriptedWire({});
    const platform = await scriptedWire({
      onBytes: (socket, bytes) =>
        wholeRequest(bytes) &&
        socket.end(`HTTP/1.1 ${status} X\r\nlocation: ${other.url}/\r\ncontent-length: 0\r\n\r\n`),
    });
    const http = new UndiciHttp({ clock: systemClock }, { totalMs: 5_000 });
    onTestFinished(() => http.close());
    const headers = { authorization: new Secret('Bearer a-token') };
    const read = await http.request({ operation: 'test', method: 'GET', url: `${platform.url}/`, headers });
    expect(read).toMatchObject({ kind: 'answered', status });
    const credential = { clientId: 'id', clientSecret: new Secret('hush') };
    const token = await exchangeToken({ http, clock: systemClock }, platform.url, credential, {
      kind: 'client_credentials',
    });
    expect(token).toMatchObject({ ok: false, refused: false });
    for (const write of Object.values(writes)) {
      const { kind } = await write.run(writeDeps(fixedToken()), platform.url);
      expect(['unknown', 'rejected', 'refused']).toContain(kind);
    }
    const ends: SocketEnd[] = [];
    const nothing = () => undefined;
    wsSocketFactory(systemClock)(platform.url.replace('http', 'ws'), new Secret('a-token'), {
      ...{ onOpen: nothing, onFrame: nothing, onPong: nothing },
      onEnd: (end) => ends.push(end),
    });
    await eventually(() => expect(ends).toEqual([{ kind: 'refused', status }]));
    expect(other.connections).toBe(0);
  },
);

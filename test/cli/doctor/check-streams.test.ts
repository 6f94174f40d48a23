import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { checkStreams } from '../../../src/cli/doctor/check-streams.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';

let close: () => Promise<void>;
afterEach(() => close());

/** A stream that answers every upgrade with this status; 101 accepts it. */
async function stream(status: number): Promise<{ url: string; authorization: () => string | undefined }> {
  let authorization: string | undefined;
  const http = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  http.on('upgrade', (request, socket, head) => {
    authorization = request.headers.authorization;
    if (status === 101) sockets.handleUpgrade(request, socket, head, () => {});
    else socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  close = () =>
    new Promise((resolve) => {
      for (const client of sockets.clients) client.terminate();
      http.closeAllConnections();
      http.close(() => resolve());
    });
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/v1/stream`,
    authorization: () => authorization,
  };
}

async function examine(settings: Record<string, string>) {
  const loaded = loadConfig(settings, () => '');
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return checkStreams(loaded.config, new Secret('jwt'), {
    openSocket: wsSocketFactory(systemClock),
    clock: systemClock,
  });
}

it('opens the stream with the token, and says goodbye', async () => {
  const { url, authorization } = await stream(101);
  expect(await examine({ PLATFORM_STREAM_URL: url })).toEqual([
    { part: 'stream', verdict: 'ok', detail: 'the handshake succeeds' },
  ]);
  expect(authorization()).toBe('Bearer jwt');
});

it.each([
  [401, /answered with 401/, /address/],
  [403, /answered with 403/, /order:information/],
  [502, /answered with 502/, /address/],
])('fails when the upgrade is answered with %i', async (status, detail, fix) => {
  const { url } = await stream(status);
  expect(await examine({ PLATFORM_STREAM_URL: url })).toEqual([
    { part: 'stream', verdict: 'fail', detail: expect.stringMatching(detail), fix: expect.stringMatching(fix) },
  ]);
});

it('looks at the staging stream where it has an address of its own, and fails when nothing is there', async () => {
  const { url } = await stream(101);
  const findings = await examine({
    PLATFORM_STREAM_URL: url,
    PLATFORM_STAGING_STREAM_URL: 'ws://127.0.0.1:1/v1/stream',
  });
  expect(findings.map(({ part, verdict }) => [part, verdict])).toEqual([
    ['stream', 'ok'],
    ['staging stream', 'fail'],
  ]);
});

it('fails without an address', async () => {
  close = async () => {};
  expect(await examine({})).toMatchObject([{ verdict: 'fail', detail: 'PLATFORM_STREAM_URL is not set' }]);
});

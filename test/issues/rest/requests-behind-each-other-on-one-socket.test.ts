// What a user saw: A halt waited for thousands of requests that strangers had sent behind each other.

import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

const tokens = [
  { name: 'ops', sha256: sha256('ops'), scopes: ['orders:read', 'ops:read', 'ops:write'], accounts: 'all' as const },
];
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const one = (token?: string) =>
  `GET /v1/halts HTTP/1.1\r\nHost: localhost\r\n${token === undefined ? '' : `Authorization: Bearer ${token}\r\n`}\r\n`;

async function start() {
  const rig = await startRest({ auth: { tokens }, maxConnections: 400 });
  stops.push(() => rig.server.drain(AbortSignal.abort()));
  return rig;
}

/** A socket that writes all this at once, and what came back. */
function flood(address: string, text: string) {
  const { hostname, port } = new URL(address);
  const held = { answers: 0, isClosed: false, socket: connect(Number(port), hostname) as Socket };
  held.socket
    .on('error', () => undefined)
    .on('close', () => {
      held.isClosed = true;
    })
    .on('data', (bytes: Buffer) => {
      held.answers += bytes.toString('latin1').split('HTTP/1.1 ').length - 1;
    });
  held.socket.write(text);
  stops.push(() => held.socket.destroy());
  return held;
}

async function halts(address: string): Promise<number> {
  const answer = await ask(`${address}/v1/halts`, { headers: { authorization: 'Bearer ops', connection: 'close' } });
  return answer.status;
}

/** A hundred sockets with 64 KiB each held up an operator for 24 s, and the lease with it. */
it('of a stranger are answered up to eight, and then its socket is ended', async () => {
  const { address, metrics } = await start();
  const few = flood(address, one().repeat(8));
  await eventually(() => expect(few.answers).toBe(8));
  const all = Array.from({ length: 40 }, () => flood(address, one().repeat(1_300)));
  expect(await halts(address)).toBe(200);
  await eventually(() => expect(all.filter(({ isClosed }) => !isClosed)).toEqual([]));
  const failures = (await metrics.rest.authFailures.get()).values.reduce((sum, { value }) => sum + value, 0);
  expect(failures).toBeLessThanOrEqual(8 + 40 * 8);
  const ended = (await metrics.process.connectionsEnded.get()).values.find(
    ({ labels }) => labels.reason === 'requests',
  );
  expect(ended?.value).toBe(40);
  expect(few.isClosed).toBe(false);
}, 60_000);

it('of a caller that has signed in are answered up to 64', async () => {
  const { address } = await start();
  const held = flood(address, one('ops'));
  await eventually(() => expect(held.answers).toBe(1));
  held.socket.write(one('ops').repeat(64));
  await eventually(() => expect(held.answers).toBe(65));
  expect(held.isClosed).toBe(false);
});

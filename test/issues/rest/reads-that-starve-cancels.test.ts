// What a user saw: One principal's reads could take all the room for answers, and other callers had to wait.

import { connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { sampleCommand } from '../../support/commands/scripted-commands.ts';
import { ask, type RestRigOptions, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const scopes = ['orders:read', 'orders:write', 'ops:read'];
const principals = ['reports', 'desk'];
const bearer = (name: string) => ({ authorization: `Bearer token-of-${name}` });

async function start(options: RestRigOptions = {}) {
  const tokens = principals.map((name) => ({
    name,
    sha256: sha256(`token-of-${name}`),
    scopes,
    accounts: 'all' as const,
  }));
  const rig = await startRest({ auth: { tokens }, ...options });
  stops.push(() => rig.server.drain(AbortSignal.abort()));
  return rig;
}

it('what one principal reads beyond its share is answered 429 with a time to come again, and another one reads on', async () => {
  const rig = await start({ readGate: { maxRowsPerPrincipal: 100, maxWaitingPerPrincipal: 1, waitMs: 60_000 } });
  const held: (() => void)[] = [];
  const page = { items: [] };
  rig.reads.listCommands = () => new Promise((resolve) => held.push(() => resolve(page)));
  const url = `${rig.address}/v1/commands?limit=100`;
  const [first, second] = [ask(url, { headers: bearer('reports') }), ask(url, { headers: bearer('reports') })];
  await eventually(async () => {
    if ((await rig.metrics.rest.readsWaiting.get()).values[0]?.value !== 1)
      throw new Error('the second does not wait yet');
  });
  const refused = await ask(url, { headers: bearer('reports') });
  expect([refused.status, refused.body['code'], refused.body['retryable']]).toEqual([429, 'TOO_MANY_READS', true]);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect((await ask(`${rig.address}/v1/orders`, { headers: bearer('desk') })).status).toBe(200);
  for (const answer of [first, second]) {
    await eventually(async () => {
      if (held.length === 0) throw new Error('it is not read yet');
    });
    held.shift()?.();
    expect((await answer).status).toBe(200);
  }
});

// It held 0.75 MB for as long as it liked.
it('a reader that takes nothing is cut, and its principal reads nothing new while it holds its share', async () => {
  const rig = await start({ readGate: { maxHeldBytesPerPrincipal: 1, waitMs: 10 }, takeAnswerMs: 1500 });
  const large = sampleCommand({ requestHash: 'h', reason: { code: 'LARGE', message: 'm'.repeat(100_000) } });
  rig.reads.commands = Array.from({ length: 200 }, () => ({ command: large, evidence: [] }));
  const socket = connect(Number(new URL(rig.address).port), '127.0.0.1');
  socket.pause();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined);
  socket.write(
    `GET /v1/commands?limit=200 HTTP/1.1\r\nHost: a\r\nAuthorization: ${bearer('reports').authorization}\r\n\r\n`,
  );
  await eventually(async () => {
    if (((await rig.metrics.rest.heldBytes.get()).values[0]?.value ?? 0) === 0) throw new Error('nothing is held yet');
  });
  const meanwhile = await ask(`${rig.address}/v1/orders`, { headers: bearer('reports') });
  expect((await ask(`${rig.address}/v1/orders`, { headers: bearer('desk') })).status).toBe(200);
  await eventually(async () => {
    if ((await rig.metrics.rest.slowReaders.get()).values[0]?.value !== 1) throw new Error('it is not cut yet');
  });
  expect(meanwhile.body['code']).toBe('TOO_MANY_READS');
  socket.resume();
  await closed;
  await eventually(async () => {
    if ((await rig.metrics.rest.heldBytes.get()).values[0]?.value !== 0) throw new Error('its bytes are still held');
  });
  expect((await ask(`${rig.address}/v1/orders`, { headers: bearer('reports') })).status).toBe(200);
});

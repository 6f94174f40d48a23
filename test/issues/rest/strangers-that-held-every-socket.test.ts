// What a user saw: An operator could not halt, because two thousand sockets without a token took every place.

import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { startAdmin } from '../../support/rest/admin-rig.ts';
import { ask, type RestRigOptions, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { testLines } from '../../support/runs/test-lines.ts';

const max = 40;
const scopes = ['orders:read', 'ops:read', 'ops:write'];
const tokens = [
  { name: 'ops', sha256: sha256('ops'), scopes, accounts: 'all' as const },
  { name: 'desk', sha256: sha256('desk'), scopes: ['orders:read'], accounts: 'all' as const },
  { name: 'other', sha256: sha256('other'), scopes: ['orders:read'], accounts: 'all' as const },
];

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function start(over: RestRigOptions = {}) {
  const rig = await startRest({ auth: { tokens }, maxConnections: max, ...over });
  stops.push(() => rig.server.drain(AbortSignal.abort()));
  return rig;
}

/** A socket of a client that keeps it, with what it was answered. */
class Held {
  text = '';
  isClosed = false;
  readonly socket: Socket;

  constructor(address: string, { reads = true } = {}) {
    const { hostname, port } = new URL(address);
    this.socket = connect(Number(port), hostname);
    this.socket
      .on('error', () => undefined)
      .on('close', () => {
        this.isClosed = true;
      });
    if (reads)
      this.socket.on('data', (bytes: Buffer) => {
        this.text += bytes.toString('latin1');
      });
    stops.push(() => this.socket.destroy());
  }

  /** Without a token: nobody. */
  send(path: string, token?: string, method = 'GET'): void {
    const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
    this.socket.write(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n`);
  }

  get status(): number {
    return Number(this.text.match(/^HTTP\/1\.1 (\d+)/)?.[1]);
  }
}

/**
 * Each opens a socket, does something on it, and keeps it; one after the other has been accepted.
 */
async function crowd(
  address: string,
  count: number,
  act: (held: Held) => void,
  reads = true,
): Promise<readonly Held[]> {
  const all: Held[] = [];
  for (let at = 0; at < count; at += 1) {
    const held = new Held(address, { reads });
    act(held);
    all.push(held);
    await eventually(() => expect(held.isClosed || held.text !== '' || held.socket.readyState === 'open').toBe(true));
  }
  return all;
}

const operator = { authorization: 'Bearer ops', 'content-type': 'application/json', connection: 'close' };
const halt = (address: string) =>
  ask(`${address}/v1/halt`, { method: 'POST', headers: operator, body: JSON.stringify({ reason: 'stop' }) });

/**
 * Two thousand sockets of anybody took every place, and an
 * operator could not halt; nothing was in the log.
 */
describe('with every place held by strangers', () => {
  it.each<[string, (held: Held) => void, boolean]>([
    ['that were answered', (held) => held.send('/docs', undefined, 'HEAD'), true],
    ['that say nothing', () => undefined, true],
    ['that send half a request', (held) => held.socket.write('GET /v1/orders HTTP/1.1\r\nHost'), true],
    ['that do not take their answers', (held) => Array.from({ length: 9 }, () => held.send('/openapi.json')), false],
    ['with a wrong token', (held) => held.send('/v1/orders', 'guess'), true],
  ])('%s an operator halts, and the log and a metric say why sockets are ended', async (_who, act, reads) => {
    const { log, lines } = testLines();
    const { address, metrics } = await start({ log });
    const all = await crowd(address, max * 2, act, reads);
    const answers = await Promise.all([
      halt(address),
      halt(address),
      ask(`${address}/v1/halts`, { headers: operator }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    // A client that reads nothing does not notice that it was ended.
    if (reads) await eventually(() => expect(all.filter(({ isClosed }) => !isClosed).length).toBeLessThanOrEqual(max));
    const held = (await metrics.process.connections.get()).values.filter(({ labels }) => labels.kind === 'stranger');
    expect(held.map(({ value }) => value <= max)).toEqual([true]);
    expect(lines().filter(({ msg }) => String(msg).startsWith('connections were ended'))).toMatchObject([
      { level: 'warn', port: 'rest', peer: '127.0.0.1', signedIn: 0, max },
    ]);
    const ended = (await metrics.process.connectionsEnded.get()).values.reduce((sum, { value }) => sum + value, 0);
    expect(ended).toBeGreaterThanOrEqual(max);
  });

  it('a socket on which somebody has signed in stays, idle or not', async () => {
    const { address } = await start();
    const mine = new Held(address);
    mine.send('/v1/halts', 'ops');
    await eventually(() => expect(mine.status).toBe(200));
    await crowd(address, max * 2, (held) => held.send('/docs', undefined, 'HEAD'));
    mine.text = '';
    mine.send('/v1/halts', 'ops');
    await eventually(() => expect(mine.status).toBe(200));
  });

  it('a client that opens many sockets at once, and then signs in on each, keeps them all', async () => {
    const { address } = await start();
    const all = Array.from({ length: max / 2 }, () => new Held(address));
    await eventually(() => expect(all.every(({ socket }) => socket.readyState === 'open')).toBe(true));
    for (const held of all) held.send('/v1/orders', 'desk');
    await eventually(() => expect(all.map(({ status }) => status)).toEqual(all.map(() => 200)));
    expect(all.some(({ isClosed }) => isClosed)).toBe(false);
  });
});

describe('with every place held by callers that have signed in', () => {
  const streamed = (token: string) => (held: Held) => held.send('/v1/stream', token);

  it('the last tenth is for those who may halt', async () => {
    const { address } = await start({ stream: { maxClients: max, maxClientsPerPrincipal: max } });
    await crowd(address, max / 2, streamed('desk'));
    const late = await crowd(address, max / 2, streamed('other'));
    await eventually(() => expect(late.filter(({ status }) => status === 200)).toHaveLength(max * 0.4));
    await eventually(() => expect(late.filter(({ text }) => text.includes('TOO_MANY_CONNECTIONS'))).toHaveLength(4));
    expect((await halt(address)).status).toBe(200);
  });

  it('the socket that was idle longest makes room', async () => {
    const { address } = await start();
    const idle = await crowd(address, max * 0.9, (held) => held.send('/v1/orders', 'desk'));
    await eventually(() => expect(idle.every(({ status }) => status === 200)).toBe(true));
    const more = await crowd(address, 3, (held) => held.send('/v1/orders', 'other'));
    await eventually(() => expect(more.map(({ status }) => status)).toEqual([200, 200, 200]));
    await eventually(() => expect(idle.filter(({ isClosed }) => isClosed)).toEqual(idle.slice(0, 3)));
  });
});

it('the admin port answers probes however many sockets strangers hold on it', async () => {
  const address = await startAdmin(stops as (() => Promise<unknown>)[]);
  const all = await crowd(address, 260, () => undefined);
  expect((await ask(`${address}/livez`)).status).toBe(200);
  await eventually(() => expect(all.filter(({ isClosed }) => !isClosed).length).toBeLessThanOrEqual(200));
});

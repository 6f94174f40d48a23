import { EventEmitter, once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { ConnectionPlaces } from '../../../src/service/rest/connection-places.ts';
import { pathOf } from '../../../src/service/rest/request-headers.ts';
import { startAdmin } from '../../support/rest/admin-rig.ts';
import { ask, type RestRigOptions, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { testLines } from '../../support/runs/test-lines.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe("issue: One token's thousands of cancels on one socket made those of other desks fail.", () => {
  const tokens = ['wild', 'desk'].map((name) => ({
    name,
    sha256: sha256(name),
    scopes: ['orders:read', 'orders:write'],
    accounts: 'all' as const,
  }));

  const request = (method: string, path: string) =>
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wild\r\nIdempotency-Key: k\r\n\r\n`;

  it('a signed-in socket with more than 64 unanswered requests is ended, and the log names its principal', async () => {
    const { log, lines } = testLines();
    const rig = await startRest({ auth: { tokens }, log });
    onTestFinished(() => rig.server.drain(AbortSignal.abort()));
    const answer = Promise.withResolvers<void>();
    const submit = rig.commands.submitAnswer;
    rig.commands.submitAnswer = async (submission) => {
      if (submission.principal === 'wild') await answer.promise;
      return submit(submission);
    };
    const { hostname, port } = new URL(rig.address);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    const seen = { text: '', isClosed: false };
    socket
      .on('error', () => undefined)
      .on('close', () => {
        seen.isClosed = true;
      })
      .on('data', (bytes: Buffer) => {
        seen.text += bytes.toString('latin1');
      });
    socket.write(request('GET', '/v1/orders'));
    await eventually(() => expect(seen.text).toContain('HTTP/1.1 200'));

    const cancels = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) =>
        request('DELETE', `/v1/orders/none-${from + at}?accountId=ACC-1`),
      ).join('');
    socket.write(cancels(0, 64));
    await eventually(() => expect(rig.commands.submissions).toHaveLength(64));
    expect(seen.isClosed).toBe(false);
    socket.write(cancels(64, 600));
    await eventually(() => expect(seen.isClosed).toBe(true));
    answer.resolve();

    const own = { method: 'DELETE', headers: { authorization: 'Bearer desk', 'idempotency-key': 'k' } };
    expect((await ask(`${rig.address}/v1/orders/o-1?accountId=ACC-1`, own)).status).toBe(200);
    expect(rig.commands.submissions).toHaveLength(65);
    expect(lines().filter(({ reason }) => reason === 'requests')).toMatchObject([{ ended: 1, principal: 'wild' }]);
  });
});

describe('issue: A proxy in front of REST answered 502 to a place, now and then, after a quiet half minute.', () => {
  it('an idle connection is kept for longer than the 60 s of usual proxies', async () => {
    const { server, address } = await startRest();
    onTestFinished(() => server.drain(new AbortController().signal));
    const { headers } = await fetch(`${address}/v1/me`);
    expect(headers.get('keep-alive')).toBe('timeout=75');
  });
});

describe('issue: A cancel through a proxy was answered 503, and its token could have gone to another host.', () => {
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
});

describe('issue: A halt waited for thousands of requests that strangers had sent behind each other.', () => {
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
});

describe('issue: One machine with a network of IPv6 took the places of all callers who had yet to sign in.', () => {
  class FakeSocket extends EventEmitter {
    destroyed = false;

    destroy(): void {
      this.destroyed = true;
      this.emit('close');
    }
  }

  const max = 40;

  function start(signIn = true) {
    const metrics = createMetrics().process;
    const deps = { clock: new VirtualClock(), log: silentLog, metrics };
    const places = new ConnectionPlaces(deps, { port: 'rest', max, signIn });
    const server = new EventEmitter() as unknown as Server;
    places.watch(server);
    const connect = () => {
      const socket = new FakeSocket();
      server.emit('connection', socket as unknown as Socket);
      return socket;
    };
    /** Its answer ends with its `close`. */
    const ask = (socket: FakeSocket) => {
      const response = new EventEmitter();
      server.emit('request', { socket }, response as unknown as ServerResponse);
      return response;
    };
    const signs = (socket: FakeSocket, ...scopes: string[]) =>
      places.signIn(socket as unknown as Socket, { name: 'desk', scopes: new Set(scopes) });
    return { connect, ask, signs, crowd: (count: number) => Array.from({ length: count }, connect) };
  }

  it.each([0, 1, 20, 35, 36])(
    'a new caller beside %s that have signed in is kept until it has signed in too, whatever addresses strangers come from',
    (count) => {
      const { connect, ask, signs, crowd } = start();
      const others = crowd(count);
      for (const other of others) {
        ask(other);
        expect(signs(other)).toBe(true);
      }
      // Strangers that keep asking do not get younger.
      const strangers = crowd(200);
      for (const stranger of strangers) ask(stranger).emit('close');
      const caller = connect();
      crowd(max - count - 1);
      for (const stranger of strangers) expect(stranger.destroyed).toBe(true);
      expect(caller.destroyed).toBe(false);
      expect(signs(caller, 'ops:write')).toBe(true);
      crowd(500);
      for (const kept of [caller, ...others]) expect(kept.destroyed).toBe(false);
    },
  );

  it('the last tenth is for those who may halt, and an idle socket that has signed in makes room for another', () => {
    const { connect, ask, signs, crowd } = start();
    const busy = crowd(36).map((socket) => ({ socket, response: ask(socket) }));
    expect(busy.map(({ socket }) => signs(socket))).toEqual(busy.map(() => true));
    expect(signs(connect())).toBe(false);
    const operators = crowd(4);
    for (const socket of operators) ask(socket);
    expect(operators.map((socket) => signs(socket, 'ops:write'))).toEqual([true, true, true, true]);
    for (const { response } of busy.slice(10, 12).reverse()) response.emit('close');
    const late = connect();
    ask(late);
    expect(busy.filter(({ socket }) => socket.destroyed)).toEqual([busy[11]]);
    expect(signs(late)).toBe(true);
    expect(busy.filter(({ socket }) => socket.destroyed)).toEqual([busy[10], busy[11]]);
  });

  it('where nobody signs in the socket that was idle longest makes room, and a busy one only if all are', () => {
    const { ask, crowd } = start(false);
    const all = crowd(max);
    const streams = all.slice(0, 10).map(ask);
    for (const socket of all.slice(10, 20)) ask(socket).emit('close');
    crowd(25);
    expect(all.map(({ destroyed }) => destroyed)).toEqual(all.map((_, at) => at >= 10 && !(at >= 15 && at < 20)));
    expect(streams).toHaveLength(10);
  });
});

describe('issue: An operator could not halt, because two thousand sockets without a token took every place.', () => {
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
      if (reads)
        await eventually(() => expect(all.filter(({ isClosed }) => !isClosed).length).toBeLessThanOrEqual(max));
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
});

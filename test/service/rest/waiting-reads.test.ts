import { connect } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Command } from '../../../src/domain/command.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { awaitCommand } from '../../../src/service/commands/await-command.ts';
import type { EventSink } from '../../../src/service/rest/stream/stream-event.ts';
import { StreamHub, streamHubDefaults } from '../../../src/service/rest/stream/stream-hub.ts';
import type { OrderReads } from '../../../src/store/orders/order-reads.ts';
import { commandId, sampleCommand } from '../../support/commands/scripted-commands.ts';
import { ask, type RestRigOptions, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe('issue: Single commands read thousands of rows each, and other readers waited for them.', () => {
  /** Orders that the command's evidence names; each has changed so often. */
  async function shown(orders: number, changes: number) {
    const rig = await startRest({ readGate: { maxRows: 10_000, maxRowsPerPrincipal: 10_000 } });
    onTestFinished(() => rig.server.drain(AbortSignal.abort()));
    const ids = Array.from({ length: orders }, (_, at) => `o-${at}`);
    for (const orderId of ids) rig.reads.addUpdate({ orderId, revision: changes });
    const [payload = ''] = rig.reads.updates.map((update) => update.payload);
    const revised = (revision: number) => JSON.stringify({ ...JSON.parse(payload), revision });
    const command = sampleCommand({ state: 'applied', orderId: 'o-0' });
    const evidence = ids.map(
      (orderId, at) => ({ number: at + 1, kind: 'read', code: 'found', detail: { orderId }, atMs: 0 }) as const,
    );
    rig.reads.commands = [{ command, evidence }];
    const read = { rows: 0, charged: 0 };
    rig.reads.history = async (_scope, stream, orderId, above, limit) => {
      const first = above + 1;
      const rows = Math.max(0, Math.min(limit, changes - above));
      read.rows += changes - above;
      read.charged = (await rig.metrics.rest.readRows.get()).values[0]?.value ?? 0;
      const update = { seq: 1n, stream, orderId, accountId: 'ACC-1', recordedAt: new Date(0) };
      return Array.from({ length: rows }, (_, at) => ({
        ...update,
        revision: first + at,
        payload: revised(first + at),
      }));
    };
    const { status, body } = await ask(`${rig.address}/v1/commands/${commandId}`);
    expect(status).toBe(200);
    return { ...read, complete: (body['recomputed'] as { readonly complete: boolean }).complete };
  }

  it.each([
    [1, 3, true],
    [1, 400, true],
    [4, 100, true],
    [1, 20_000, false],
    [4, 20_000, false],
    [9, 1, false],
  ])(
    '%d orders that changed %d times cost at most what was charged, and no more than 500 changes',
    async (orders, changes, complete) => {
      const read = await shown(orders, changes);
      expect(read.rows).toBeLessThanOrEqual(500);
      expect(read.charged).toBeGreaterThanOrEqual(read.rows);
      expect(read.complete).toBe(complete);
    },
  );
});

describe("issue: A thousand GETs with `Prefer: wait` made every other caller's reads fail with 429.", () => {
  async function waiting() {
    const rig = await startRest({ readGate: { maxRows: 10, maxRowsPerPrincipal: 10, waitMs: 10 } });
    onTestFinished(() => rig.server.drain(AbortSignal.abort()));
    rig.reads.commands = [{ command: sampleCommand(), evidence: [] }];
    const news = Promise.withResolvers<undefined>();
    rig.commands.waitAnswer = () => news.promise;
    const show = () => ask(`${rig.address}/v1/commands/${commandId}`, { headers: { prefer: 'wait=30' } });
    const rows = async () => (await rig.metrics.rest.readRows.get()).values[0]?.value;
    return { rig, news, show, rows };
  }

  it('a read that waits for a command has no share of the reads meanwhile', async () => {
    const { rig, news, show, rows } = await waiting();
    const answers = Promise.all([show(), show(), show()]);
    await eventually(() => expect(rig.commands.waits).toHaveLength(3));
    expect(await rows()).toBe(0);
    expect((await ask(`${rig.address}/v1/orders`)).status).toBe(200);
    news.resolve(undefined);
    expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200]);
    await eventually(async () => expect(await rows()).toBe(0));
  });

  it('and is answered 429 if there is no room for it after the wait', async () => {
    const { rig, news, show, rows } = await waiting();
    const answer = show();
    await eventually(() => expect(rig.commands.waits).toHaveLength(1));
    const page = Promise.withResolvers<{ items: [] }>();
    rig.reads.listCommands = () => page.promise;
    const other = ask(`${rig.address}/v1/commands`);
    await eventually(async () => expect(await rows()).toBe(50));
    news.resolve(undefined);
    const { status, headers, body } = await answer;
    expect([status, body['code'], headers.get('retry-after')]).toEqual([429, 'TOO_MANY_READS', '1']);
    page.resolve({ items: [] });
    expect((await other).status).toBe(200);
    await eventually(async () => expect(await rows()).toBe(0));
  });
});

describe("issue: One principal's reads could take all the room for answers, and other callers had to wait.", () => {
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
      if (((await rig.metrics.rest.heldBytes.get()).values[0]?.value ?? 0) === 0)
        throw new Error('nothing is held yet');
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
});

describe('issue: A request that waited for a command could make the service loop and answer no request.', () => {
  /**
   * Loops of the kind of `start-without-a-token.test.ts`: nothing in a turn of theirs took time
   * where all was answered at once.
   */

  it('a caller that waits for a conflict which a person resolves at that moment has its answer, and no loop', async () => {
    const clock = new VirtualClock();
    const command = (state: Command['state'], version: number) => ({ commandId: 'c', state, version }) as Command;
    let hear: (command: Command) => void = () => undefined;
    const book = {
      get: () => ({ command: command('unknown', 1) }) as never,
      listen: (_: string, callback: (command: Command) => void) => {
        hear = callback;
        return () => undefined;
      },
    };
    const answer = awaitCommand({ book, clock, journal: { find: async () => undefined } }, 'c', 10_000);
    await clock.advance(100);
    hear(command('conflict', 2));
    hear(command('accepted', 3));
    await clock.advance(1);
    expect(await answer).toMatchObject({ state: 'accepted', version: 3 });
  });

  const page = { updates: [], lastSeq: 5n, oldestSeq: 1n };
  it.each([
    ['its end can not be read', page],
    ['the log was cut off, and its end can not be read', { ...page, lastSeq: 9n, oldestSeq: 8n }],
  ])('a reader of the stream asks for the log twice a second where %s', async (_, found) => {
    const clock = new VirtualClock();
    let asked = 0;
    const reads = {
      newestSeq: () => Promise.reject(new Error('the database is away')),
      updatesAfter: async () => {
        asked += 1;
        return found;
      },
    } as unknown as OrderReads;
    const metrics = createMetrics().rest;
    const hub = new StreamHub({ clock, log: silentLog, reads, metrics }, streamHubDefaults);
    const sink: EventSink = {
      bufferedBytes: 0,
      write: () => undefined,
      onRoom: (done) => done(),
      onGone: () => undefined,
      end: () => undefined,
      destroy: () => undefined,
    };
    const accounts = { kind: 'all' } as const;
    hub.open({ principal: 'p', accounts, isAllowed: async () => true } as never, sink, 5n, 5n);
    await clock.advance(10_000);
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(25);
    hub.stop();
    await clock.advance(1_000);
  });
});

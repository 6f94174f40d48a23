import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { loopbackPrincipal, scopes } from '../../../src/service/rest/auth/principal.ts';
import { StreamClient } from '../../../src/service/rest/stream/stream-client.ts';
import type { EventSink } from '../../../src/service/rest/stream/stream-event.ts';
import { portsOf, readUnacknowledged } from '../../../src/service/rest/stream/unacknowledged.ts';
import { EventReader } from '../../support/rest/event-reader.ts';
import { ask, type RestRigOptions, sha256, startIssuer, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
const readers: EventReader[] = [];

const quick = { pollEveryMs: 20, pollGapMs: 1 };
const start = async (options: RestRigOptions = {}) => {
  await stop();
  rig = await startRest({ stream: quick, ...options });
};
const stop = () => rig?.server.drain(new AbortController().signal);

beforeEach(async () => {
  rig = await startRest({ stream: quick });
});
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await stop();
});

async function open(query = '', headers: Record<string, string> = {}): Promise<EventReader> {
  const reader = await EventReader.open(`${rig.address}/v1/stream${query}`, headers);
  readers.push(reader);
  return reader;
}

/** Adds updates of one order after the other, and wakes the server as a commit does. */
function add(count: number, over: Parameters<typeof rig.reads.addUpdate>[0] = {}) {
  const updates = Array.from({ length: count }, () =>
    rig.reads.addUpdate({ revision: rig.reads.updates.length + 1, ...over }),
  );
  rig.server.wake();
  return updates;
}

async function clients(): Promise<number> {
  return (await rig.metrics.rest.streamClients.get()).values[0]?.value ?? 0;
}

async function resets(reason: string): Promise<number> {
  const { values } = await rig.metrics.rest.streamResets.get();
  return values.find(({ labels }) => labels.reason === reason)?.value ?? 0;
}

const live = (count: number) => eventually(async () => expect(await clients()).toBe(count));
const ids = (reader: EventReader) => reader.events.flatMap(({ event, id }) => (event === 'update' ? [Number(id)] : []));
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe('GET /v1/stream', () => {
  it('begins at the end of the log, and carries each update as it stands on Kafka', async () => {
    add(3);
    const reader = await open();
    expect([reader.status, reader.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    const [update] = add(1);
    expect(await reader.take(1)).toEqual([{ event: 'update', id: '4', data: update?.payload }]);
  });

  it('goes on after the last id, without a hole and without a repeat, while updates keep coming', async () => {
    add(1000);
    const reader = await open('', { 'last-event-id': '10' });
    for (let batch = 0; batch < 20; batch += 1) {
      add(25);
      await eventually(() => expect(reader.events.length).toBeGreaterThan(batch * 20));
    }
    await reader.take(1490);
    expect(ids(reader)).toEqual(numbers(11, 1500));
  });

  it('goes on after a position in the address, for who cannot set headers', async () => {
    add(5);
    const reader = await open('?after=3');
    await reader.take(2);
    expect(ids(reader)).toEqual([4, 5]);
  });

  it('shows many readers the same, each from where it began, from one tail', async () => {
    add(300);
    const from = [0, 100, 250, 300];
    const all = await Promise.all(from.map((after) => open(`?after=${after}`)));
    add(50);
    await Promise.all(all.map((reader, i) => reader.take(350 - (from[i] ?? 0))));
    for (const [i, reader] of all.entries()) expect(ids(reader)).toEqual(numbers((from[i] ?? 0) + 1, 350));
  });

  it('shows only the account and the stream that were asked for', async () => {
    const reader = await open('?accountId=ACC-2&stream=account&after=0');
    add(2);
    add(2, { accountId: 'ACC-2', orderId: 'ord-2' });
    add(1);
    await reader.take(2);
    add(1, { accountId: 'ACC-2', orderId: 'ord-2' });
    await reader.take(3);
    expect(ids(reader)).toEqual([3, 4, 6]);
  });

  it('shows a token nothing of an account that it does not name, behind or live', async () => {
    const token = 'a-token-of-one-account';
    await start({ auth: { tokens: [{ name: 'desk', sha256: sha256(token), scopes, accounts: ['ACC-2'] }] } });
    add(5);
    const reader = await open('?after=0', { authorization: `Bearer ${token}` });
    add(5);
    add(1, { accountId: 'ACC-2', orderId: 'ord-2' });
    await reader.take(1);
    add(5);
    add(1, { accountId: 'ACC-2', orderId: 'ord-2' });
    await reader.take(2);
    expect(ids(reader)).toEqual([11, 17]);
  });

  it('does not make those at the end wait for a reader of a quiet account that is far behind', async () => {
    add(3000);
    rig.reads.lookedAt = 50;
    const behind = await open('?accountId=ACC-2&after=0');
    const reader = await open();
    add(1);
    await reader.take(1);
    add(1, { accountId: 'ACC-2', orderId: 'ord-2' });
    await behind.take(1);
    expect([ids(reader)[0], ids(behind)]).toEqual([3001, [3002]]);
  });

  it('looks by time where nobody wakes it: on an instance that stands by', async () => {
    const reader = await open();
    await live(1);
    rig.reads.addUpdate();
    await reader.take(1);
    expect(ids(reader)).toEqual([1]);
  });

  it('reads nothing while nobody follows it', async () => {
    add(3);
    const reader = await open('?after=0');
    await reader.take(3);
    reader.close();
    await live(0);
    await eventually(async () => {
      const before = rig.reads.logReads;
      for (let i = 0; i < 5; i += 1) rig.server.wake();
      await ask(`${rig.address}/v1/orders`);
      expect(rig.reads.logReads).toBe(before);
    });
  });

  it('keeps a quiet stream open by its id', async () => {
    await start({ stream: { ...quick, heartbeatEveryMs: 20 } });
    const reader = await open();
    await eventually(() => expect(reader.silentIds).toBeGreaterThan(3));
    expect(reader.events).toEqual([]);
  });

  it('goes on when the log could not be read for a while', async () => {
    const reader = await open('?after=0');
    add(1);
    await reader.take(1);
    rig.reads.failure = new Error('away');
    add(2);
    await eventually(() => expect(reader.events).toHaveLength(1));
    rig.reads.failure = undefined;
    await reader.take(3);
    expect(ids(reader)).toEqual([1, 2, 3]);
  });

  it.each(['x', '-1', '1.5', '9'.repeat(19), "1' or"])('refuses the id %j', async (id) => {
    const { status, body } = await ask(`${rig.address}/v1/stream`, { headers: { 'last-event-id': id } });
    expect([status, body['code']]).toEqual([400, 'INVALID_EVENT_ID']);
  });
});

describe('issue: A stream resumed by an id from before a restore, and did not say that updates were lost.', () => {
  it('a reader that stayed connected is sent a reset, once, and goes on behind what was lost', async () => {
    const reader = await open('?after=0');
    add(2);
    await reader.take(2);
    await live(1);
    rig.reads.oldestSeq = 4n;
    add(2);
    await reader.take(3);
    add(1);
    expect((await reader.take(4)).slice(2)).toMatchObject([
      { event: 'reset', id: '4', data: '{"reason":"too_old","goingOnAfter":"4"}' },
      { event: 'update', id: '5' },
    ]);
    expect(await resets('too_old')).toBe(1);
  });
});

describe('a reader whose id cannot be gone on from', () => {
  it('is told to read anew when what follows is not in the log any more, and goes on from the end', async () => {
    add(50);
    rig.reads.oldestSeq = 20n;
    const reader = await open('', { 'last-event-id': '10' });
    const [reset] = await reader.take(1);
    expect(reset).toEqual({ event: 'reset', id: '50', data: '{"reason":"too_old","goingOnAfter":"50"}' });
    add(2);
    await reader.take(3);
    expect(ids(reader)).toEqual([51, 52]);
    expect(await resets('too_old')).toBe(1);
  });

  it('is not told so when just the next one is there', async () => {
    add(50);
    rig.reads.oldestSeq = 11n;
    const reader = await open('', { 'last-event-id': '10' });
    await reader.take(40);
    expect(ids(reader)).toEqual(numbers(11, 50));
  });

  it('is told to read anew when its id is of another log', async () => {
    add(3);
    const reader = await open('', { 'last-event-id': '1000' });
    const [reset] = await reader.take(1);
    expect(reset).toMatchObject({ event: 'reset', id: '3', data: expect.stringContaining('unknown_id') });
    add(1);
    await reader.take(2);
    expect(ids(reader)).toEqual([4]);
  });
});

/** A reader that asks and then takes nothing. */
function deaf(address: string, path: string): Promise<Socket> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.pause();
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`, () => resolve(socket));
    });
    socket.on('error', () => {});
  });
}

describe('a reader that is too slow', () => {
  const big = { rejectText: 'x'.repeat(100_000) };

  it('is told to connect again and its connection ends; the others are not held up', async () => {
    await start({ stream: { ...quick, maxBufferedBytes: 300_000 } });
    const slow = await deaf(rig.address, '/v1/stream');
    await live(1);
    const fast = await open();
    await live(2);
    // More than the sockets of both sides hold, and what may be buffered besides.
    for (let sent = 0; (await resets('slow_reader')) === 0 && sent < 500; sent += 1) {
      add(1, big);
      await eventually(() => expect(fast.events).toHaveLength(sent + 1));
    }
    expect(await resets('slow_reader')).toBe(1);
    let heard = '';
    slow.setEncoding('utf8').on('data', (chunk: string) => {
      heard = (heard + chunk).slice(-2000);
    });
    slow.resume();
    await eventually(() => expect(slow.closed).toBe(true));
    expect(heard).toContain('event: reset\ndata: {"reason":"slow_reader"}\n\n');
    await live(1);
  });

  it('is waited for while it catches up', async () => {
    await start({ stream: { ...quick, maxBufferedBytes: 200_000 } });
    add(200, big);
    const reader = await open('?after=0');
    await reader.take(200);
    expect(ids(reader)).toEqual(numbers(1, 200));
  });

  it('is given up while it catches up when it makes no room', async () => {
    await start({ stream: { ...quick, maxBufferedBytes: 200_000, stallMs: 100 } });
    add(200, big);
    const slow = await deaf(rig.address, '/v1/stream?after=0');
    await eventually(async () => expect(await resets('slow_reader')).toBe(1));
    slow.destroy();
    await live(0);
  });
});

describe('the bounds of the stream', () => {
  it('refuse a reader too many, and let one in when another leaves', async () => {
    await start({ stream: { ...quick, maxClients: 2 } });
    const [first] = [await open(), await open()];
    const refused = await ask(`${rig.address}/v1/stream`);
    expect([refused.status, refused.body['code'], refused.headers.get('retry-after')]).toEqual([
      503,
      'TOO_MANY_STREAMS',
      '5',
    ]);
    first.close();
    await live(1);
    expect((await open()).status).toBe(200);
  });

  it('keep one principal from taking all of them', async () => {
    const [one, two] = ['token-of-one', 'token-of-two'];
    const tokens = [one, two].map((token) => ({
      name: token,
      sha256: sha256(token),
      scopes,
      accounts: 'all' as const,
    }));
    await start({ auth: { tokens }, stream: { ...quick, maxClientsPerPrincipal: 1 } });
    expect((await open('', { authorization: `Bearer ${one}` })).status).toBe(200);
    expect((await open('', { authorization: `Bearer ${one}` })).status).toBe(503);
    expect((await open('', { authorization: `Bearer ${two}` })).status).toBe(200);
  });

  it('end a stream whose token has ended', async () => {
    const issuer = await startIssuer();
    try {
      await start({ auth: { jwt: issuer.jwt }, stream: { ...quick, heartbeatEveryMs: 20 } });
      // The leeway of 30 s is over in a moment.
      const token = await issuer.sign({ exp: Math.floor(Date.now() / 1000) - 28 });
      const reader = await open('', { authorization: `Bearer ${token}` });
      await reader.untilEnded();
      expect(reader.events.at(-1)).toEqual({ event: 'shutdown', id: '0', data: '{"reason":"token_expired"}' });
    } finally {
      await issuer.stop();
    }
  });

  it('end a stream that is as old as one may be', async () => {
    await start({ stream: { ...quick, heartbeatEveryMs: 10, maxAgeMs: 50 } });
    const reader = await open();
    await reader.untilEnded();
    expect(reader.events).toEqual([{ event: 'shutdown', id: '0', data: '{"reason":"max_age"}' }]);
  });
});

describe('a drain', () => {
  it('tells every reader, live or behind, and ends its stream', async () => {
    add(10);
    const all = [await open(), await open('?after=0')];
    await all[1]?.take(10);
    await stop();
    for (const reader of all) {
      await reader.untilEnded();
      expect(reader.events.at(-1)).toEqual({ event: 'shutdown', id: '10', data: '{"reason":"draining"}' });
    }
    expect(await clients()).toBe(0);
  });
});

describe('issue: A new reader of the stream got 503, because fifty readers that were gone held all places.', () => {
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  /**
   * A reader that is gone without a word: its socket is open, and nothing is read from it any more.
   */
  async function goneReader(address: string): Promise<Socket> {
    const { hostname, port } = new URL(address);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    stops.push(() => socket.destroy());
    socket.write('GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    return socket;
  }

  /**
   * Fifty readers that were cut off without a FIN had all places of their principal, for as long as
   * kernels buffered what was sent to them.
   */
  describe('readers of the stream that take nothing', () => {
    it.each([
      ['more than the kernel takes for them', 40],
      ['only what the kernel takes for them', 4],
    ])('lose their places while %s waits, and a reader that takes its events does not', async (_what, rounds) => {
      const rig = await startRest({
        stream: {
          ...{ pollEveryMs: 20, pollGapMs: 1, heartbeatEveryMs: 200, goneAfterMs: 1_500 },
          ...{ maxClientsPerPrincipal: 4, maxBufferedBytes: 200_000_000 },
        },
      });
      stops.push(() => rig.server.drain(AbortSignal.abort()));
      const url = `${rig.address}/v1/stream`;
      for (let at = 0; at < 3; at += 1) await goneReader(rig.address);
      const reader = await EventReader.open(url);
      stops.push(() => reader.close());
      expect((await EventReader.open(url)).status).toBe(503);
      const clients = async () => (await rig.metrics.rest.streamClients.get()).values[0]?.value;
      expect(await clients()).toBe(4);
      for (let round = 0; round < rounds; round += 1) {
        for (let at = 0; at < 150; at += 1) rig.reads.addUpdate({ revision: rig.reads.updates.length + 1 });
        rig.server.wake();
        await eventually(() => expect(reader.events.length).toBe((round + 1) * 150));
      }
      await eventually(async () => expect(await clients()).toBe(1));
      expect(reader.ended).toBe(false);
      const next = await EventReader.open(url);
      stops.push(() => next.close());
      expect(next.status).toBe(200);
      expect((await rig.metrics.rest.slowReaders.get()).values[0]?.value).toBe(3);
    });
  });

  it.runIf(process.platform === 'linux')('the kernel says what a peer has not acknowledged', async () => {
    const rig = await startRest();
    stops.push(() => rig.server.drain(AbortSignal.abort()));
    const reader = await goneReader(rig.address);
    const own = portsOf(reader.remotePort, reader.localPort);
    await eventually(async () => expect((await readUnacknowledged()).get(own)).toBe(0));
  });

  describe('a reader', () => {
    const goneAfterMs = 60_000;
    const heard = {
      bufferedBytes: 0,
      ports: '1:2',
      write: () => {},
      onRoom: () => {},
      onGone: () => {},
      end: () => {},
      destroy: () => {},
    };
    const readerOf = (clock: VirtualClock, sink: EventSink) => {
      const reader = {
        principal: loopbackPrincipal.name,
        accounts: { kind: 'all' } as const,
        judge: () => 'good' as const,
      };
      return new StreamClient({ clock, sink }, reader, 0n, { maxBufferedBytes: 1_000, stallMs: 30_000, goneAfterMs });
    };

    it.each<[string, (beat: number) => number, boolean]>([
      ['to which nothing waits', () => 0, false],
      ['that takes one byte in a minute', (beat) => 500 - Math.floor(beat / 4), false],
      ['that has taken all just before', (beat) => (beat % 4 === 3 ? 0 : 100), false],
      ['that takes nothing', () => 500, true],
      ['to which ever more waits', (beat) => 500 + beat * 100, true],
    ])('%s: gone %s', async (_who, waiting, isGone) => {
      const clock = new VirtualClock();
      const client = readerOf(clock, heard);
      client.greet();
      let gone = false;
      for (let beat = 0; beat < 12; beat += 1) {
        await clock.advance(15_000);
        gone ||= client.hasGone(new Map([['1:2', waiting(beat)]]));
      }
      expect(gone).toBe(isGone);
    });
  });
});

describe('issue: A stream reader that was cut off before its first event missed what came meanwhile.', () => {
  let rig: Awaited<ReturnType<typeof startRest>>;
  const readers: EventReader[] = [];

  beforeEach(async () => {
    rig = await startRest({ stream: { pollEveryMs: 20, pollGapMs: 1, heartbeatEveryMs: 20 } });
  });
  afterEach(async () => {
    for (const reader of readers.splice(0)) reader.close();
    await rig.server.drain(new AbortController().signal);
  });

  async function open(query = '', lastId?: string): Promise<EventReader> {
    const reader = await EventReader.open(
      `${rig.address}/v1/stream${query}`,
      lastId === undefined ? {} : { 'last-event-id': lastId },
    );
    readers.push(reader);
    return reader;
  }

  const add = (count: number, accountId = 'ACC-1') => {
    for (let i = 0; i < count; i += 1) rig.reads.addUpdate({ revision: rig.reads.updates.length + 1, accountId });
    rig.server.wake();
  };

  it('a reader that is cut off before its first event goes on where it began', async () => {
    add(3);
    const first = await open();
    await eventually(() => expect(first.lastId).toBe('3'));
    first.close();
    add(3);
    const again = await open('', first.lastId);
    const events = await again.take(3);
    expect(events.map(({ event, id }) => [event, id])).toEqual(['4', '5', '6'].map((id) => ['update', id]));
  });

  it('the id of a reader of a quiet account moves on with the log', async () => {
    const reader = await open('?accountId=ACC-2');
    add(3);
    await eventually(() => expect(reader.lastId).toBe('3'));
    add(1, 'ACC-2');
    add(2);
    await eventually(() => expect(reader.lastId).toBe('6'));
    expect(reader.events.map(({ id }) => id)).toEqual(['4']);
  });

  it('a stream that we end says how far it was', async () => {
    const reader = await open('?accountId=ACC-2');
    add(3);
    await eventually(() => expect(reader.lastId).toBe('3'));
    await rig.server.drain(new AbortController().signal);
    await reader.untilEnded();
    expect(reader.events).toEqual([{ event: 'shutdown', id: '3', data: '{"reason":"draining"}' }]);
  });
});

describe('issue: After a slow moment of the database no reader of the stream was served until a restart.', () => {
  it('a reader that leaves while the database is asked where the log ends leaves no place taken', async () => {
    const rig = await startRest({ stream: { maxClients: 1, maxClientsPerPrincipal: 1 } });
    onTestFinished(() => rig.server.drain(new AbortController().signal));
    const newestSeq = rig.reads.newestSeq.bind(rig.reads);
    const answer = Promise.withResolvers<void>();
    let asked = 0;
    rig.reads.newestSeq = async () => {
      asked += 1;
      await answer.promise;
      return newestSeq();
    };
    const left = new AbortController();
    const gone = fetch(`${rig.address}/v1/stream`, { signal: left.signal }).catch(() => undefined);
    await eventually(() => expect(asked).toBe(1));
    left.abort();
    await gone;
    // The server has seen it go, and answers another one in the meantime.
    await eventually(async () => expect((await fetch(`${rig.address}/v1/orders`)).status).toBe(200));
    answer.resolve();
    await eventually(async () => {
      const reader = await EventReader.open(`${rig.address}/v1/stream`, {});
      reader.close();
    });
  });
});

describe('issue: Readers that found the stream full kept the database busy, and other reads waited.', () => {
  it('a reader for which there is no room is refused before the database is asked', async () => {
    const rig = await startRest({ stream: { maxClients: 1, maxClientsPerPrincipal: 1 } });
    onTestFinished(() => rig.server.drain(new AbortController().signal));
    const reader = await EventReader.open(`${rig.address}/v1/stream`, {});
    onTestFinished(() => reader.close());
    let asked = 0;
    rig.reads.newestSeq = async () => {
      asked += 1;
      return 0n;
    };
    const { status, headers, body } = await ask(`${rig.address}/v1/stream?events=result`);
    expect([status, body['code'], headers.get('retry-after')]).toEqual([503, 'TOO_MANY_STREAMS', '5']);
    expect(asked).toBe(0);
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { ByteBudget } from '../../../src/runtime/byte-budget.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { Source } from '../../../src/service/sources/source.ts';
import { type StreamTimings, streamTimingDefaults } from '../../../src/service/sources/stream-timings.ts';
import { Pace, Window } from '../../../src/service/sources/window.ts';
import { wsSocketDefaults, wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';
import { accountRow, eventText } from '../../../src/venue/platform/fixtures/rows.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { ScriptedSink } from '../../support/orders/scripted-sink.ts';
import { ScriptedPlatform } from '../../support/platform/scripted-platform.ts';
import { ScriptedRegistry } from '../../support/platform/scripted-registry.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { TcpProxy } from '../../support/servers/tcp-proxy.ts';
import { acknowledge, type StreamScript, streamServer } from './stream-server.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/**
 * A source on real time and real sockets; deadlines are shortened,
 * so that reaching them takes no patience.
 */
const hasty: StreamTimings = {
  ...streamTimingDefaults,
  ackMs: 200,
  pingMs: 100,
  idleMs: 300,
  messageMs: 60_000,
  reconnectMaxMs: 50,
};

async function following(
  script: StreamScript,
  options: { timings?: Partial<StreamTimings>; proxied?: boolean; accounts?: string[] } = {},
) {
  const server = await streamServer(script);
  closers.push(server.close);
  const proxy =
    options.proxied === true ? await TcpProxy.start({ targetPort: Number(new URL(server.url).port) }) : undefined;
  if (proxy !== undefined) closers.push(() => proxy[Symbol.asyncDispose]());
  const platform = new ScriptedPlatform(systemClock);
  const sink = new ScriptedSink();
  const metrics = createMetrics().source;
  const source = new Source(
    {
      clock: systemClock,
      random: seededRandom(3),
      venue: platformVenue,
      reads: platform,
      registry: new ScriptedRegistry(),
      sink,
      metrics,
      log: silentLog,
      openSocket: wsSocketFactory(systemClock, { ...wsSocketDefaults, openMs: 2_000, closeMs: 500 }),
      tokens: platform,
      gate: new Window(8),
      troubledGate: new Window(2),
      auditGate: new Window(1),
      doubtPace: new Pace({ clock: systemClock }, { everyMs: 100 }),
      budget: new ByteBudget({ maxBytes: 64_000_000 }),
    },
    {
      stream: 'account',
      url: proxy === undefined ? server.url : `ws://${proxy.address}/v1/stream`,
      timings: { ...hasty, ...options.timings },
    },
  );
  source.start();
  closers.push(() => source.stop());
  for (const accountId of options.accounts ?? ['acct-1']) {
    source.follow(unreadAccount(accountId));
  }
  const allLive = () =>
    eventually(() => expect(new Set(source.status().accounts.map(({ state }) => state))).toEqual(new Set(['live'])));
  const ended = (reason: string) =>
    eventually(async () => {
      const { values } = await metrics.reconnects.get();
      expect(values.map(({ labels }) => labels.reason)).toContain(reason);
    });
  return { server, proxy, platform, sink, source, metrics, allLive, ended };
}

/** Scripts for the first connection only; every later one behaves. */
const atFirst = (misbehave: (client: WebSocket) => void): StreamScript => ({
  onClient: (client, _, count) => (count === 1 ? misbehave(client) : acknowledge(client)),
});

describe('a source on real sockets', () => {
  it('counts for how long it held its sockets back, while it does', async () => {
    const clients: WebSocket[] = [];
    const { allLive, sink, source, metrics } = await following({
      onClient: (client) => {
        clients.push(client);
        acknowledge(client);
      },
    });
    await allLive();
    const seconds = async () => (await metrics.pausedSeconds.get()).values[0]?.value ?? 0;
    expect(await seconds()).toBe(0);
    sink.full = true;
    clients[0]?.send(eventText('account', 'acct-1', accountRow));
    await eventually(() => expect(source.status().paused).toBe(true));
    await eventually(async () => expect(await seconds()).toBeGreaterThan(0));
    const before = await seconds();
    sink.makeRoom();
    expect(source.status().paused).toBe(false);
    const after = await seconds();
    expect(after).toBeGreaterThanOrEqual(before);
  });

  it('goes live and hands over what comes', async () => {
    const clients: WebSocket[] = [];
    const { allLive, sink } = await following({
      onClient: (client) => {
        clients.push(client);
        acknowledge(client);
      },
    });
    await allLive();
    clients[0]?.send(eventText('account', 'acct-1', accountRow));
    await eventually(() => expect(sink.observations).toHaveLength(1));
  });

  it('matches acknowledgements by their id, in whatever order they come', async () => {
    const { allLive } = await following(
      {
        onClient: (client) => {
          const asked: string[] = [];
          client.on('message', (data) => {
            asked.unshift(String(data));
            if (asked.length < 3) return;
            for (const text of asked) {
              const { id, payload } = JSON.parse(text) as { id: string; payload: unknown };
              client.send(JSON.stringify({ type: 'subscribed', id, timestamp: '2026-11-21T14:30:00Z', payload }));
            }
          });
        },
      },
      { accounts: ['acct-1', 'acct-2', 'acct-3'] },
    );
    await allLive();
  });

  it('keeps an event that comes before the acknowledgement', async () => {
    const { allLive, sink } = await following({
      onClient: (client) => {
        client.send(eventText('account', 'acct-1', accountRow));
        acknowledge(client);
      },
    });
    await allLive();
    expect(sink.observations.map(({ cause }) => cause)).toEqual(['stream']);
  });

  it.each<[string, string, StreamScript, Partial<StreamTimings>]>([
    ['a subscription is never answered', 'ack_timeout', atFirst(() => undefined), { idleMs: 5_000 }],
    [
      'the peer stops reading and writing',
      'idle',
      atFirst((client) => client.once('message', () => client.pause())),
      { ackMs: 5_000 },
    ],
    [
      'the peer only pings, in the middle of a message that never ends',
      'no_message',
      atFirst((client) => {
        acknowledge(client);
        client.once('message', () => {
          client.send('{"half":', { fin: false });
          const pings = setInterval(() => client.ping(), 50);
          client.on('close', () => clearInterval(pings));
        });
      }),
      { messageMs: 1_500 },
    ],
    ['a binary message comes', 'binary', atFirst((client) => client.send(Buffer.of(0xff, 0xfe))), {}],
    ['a message is too long', 'oversize', atFirst((client) => client.send('x'.repeat(70_000))), {}],
    ['the platform restarts', 'restarting', atFirst((client) => client.close(1012)), {}],
    ['it was too slow a consumer', 'slow_consumer', atFirst((client) => client.close(4429)), {}],
    [
      'the upgrade is answered with HTML',
      'refused',
      { refuse: (count) => (count <= 3 ? html : undefined), onClient: acknowledge },
      {},
    ],
  ])('connects again when %s', async (_, reason, script, timings) => {
    const { allLive, ended, server } = await following(script, { timings });
    await ended(reason);
    await allLive();
    expect(server.tokens.length).toBeGreaterThan(1);
  });

  it.each([
    [
      'a close with 4401',
      { onClient: (client, _, count) => (count === 1 ? client.close(4401, 'expired') : acknowledge(client)) },
    ],
    [
      'an upgrade answered with 401',
      { refuse: (count) => (count === 1 ? unauthorized : undefined), onClient: acknowledge },
    ],
  ] as [string, StreamScript][])('connects with a new token after %s', async (_, script) => {
    const { allLive, server, ended } = await following(script);
    await ended('unauthorized');
    await allLive();
    expect(server.tokens).toEqual(['t1', 't2']);
  });

  it('finds a half-open connection, and is live again once the network is', async () => {
    const { proxy, allLive, ended } = await following({ onClient: acknowledge }, { proxied: true });
    await allLive();
    proxy?.behave({ kind: 'swallow' });
    await ended('idle');
    proxy?.cut('reset');
    proxy?.behave({ kind: 'pass' });
    await allLive();
  });

  it('moves to a new token without ever leaving live', async () => {
    const { allLive, platform, server, ended, source, sink } = await following({ onClient: acknowledge });
    await allLive();
    platform.renewToken();
    await ended('replaced');
    expect(source.status().accounts[0]?.state).toBe('live');
    expect(server.tokens).toEqual(['t1', 't2']);
    expect(sink.marks('acct-1').filter((event) => event !== 'heartbeat')).toEqual(['live']);
  });

  it('leaves no socket behind when it is stopped', async () => {
    const open = new Set<WebSocket>();
    const { allLive, source } = await following({
      onClient: (client) => {
        open.add(client);
        client.on('close', () => open.delete(client));
        acknowledge(client);
      },
    });
    await allLive();
    await source.stop();
    await eventually(() => expect(open.size).toBe(0));
  });
});

const html = 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>';
const unauthorized = 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n';

import { describe, expect, it, onTestFinished } from 'vitest';
import { differences, parseTruth } from '../../../src/demo/proof/prove-run.ts';
import { orderKey } from '../../../src/domain/order.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { ByteBudget } from '../../../src/runtime/byte-budget.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { MemoryTokenStore } from '../../../src/runtime/token-store.ts';
import type { FaultOrder } from '../../../src/sandbox/faults/fault-shapes.ts';
import type { SandboxInput } from '../../../src/sandbox/sandbox-options.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { Connectors } from '../../../src/service/sources/connectors.ts';
import type { StreamTimings } from '../../../src/service/sources/stream-timings.ts';
import { wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';
import { platformReads } from '../../../src/venue/platform/platform-reads.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { RefreshingTokenSource } from '../../../src/venue/platform/token-source.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { ReducingSink } from '../../support/orders/reducing-sink.ts';
import { ask, control, runningSandbox } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

const hasty: Partial<StreamTimings> = { auditMs: 500, pingMs: 500, idleMs: 3_000, reconnectMaxMs: 300 };

/**
 * Everything of ours between the platform and ingest, as `serve` joins
 * it, against the sandbox on real sockets.
 */
async function following(input: SandboxInput, options: { everyMs?: number; notEnrolledMs?: number } = {}) {
  const { description } = await runningSandbox(input);
  const clock = systemClock;
  const random = seededRandom(5);
  const metrics = createMetrics();
  const sink = new ReducingSink(clock);
  const http = new UndiciHttp({ clock }, { totalMs: 5_000 });
  const tokens = new RefreshingTokenSource(
    { http, clock, random, store: new MemoryTokenStore({ clock }), log: silentLog, metrics: metrics.platform },
    {
      name: 'client',
      holder: 'one',
      baseUrl: description.platform,
      credential: { clientId: description.clientId, clientSecret: new Secret(description.clientSecret) },
      grant: 'client_credentials',
    },
  );
  const reads = platformReads(
    { http, clock, random, tokens, metrics: metrics.platform },
    { platformUrl: description.platform, stagingUrl: description.staging },
  );
  const openSocket = wsSocketFactory(clock);
  const budget = new ByteBudget({ maxBytes: 64_000_000 });
  const connectors = new Connectors(
    {
      clock,
      random,
      registry: sink,
      sink,
      metrics: metrics.source,
      log: silentLog,
      openSocket,
      budget,
    },
    {
      streamUrls: { account: description.stream, prediction: description.stagingStream },
      timings: { ...hasty, notEnrolledMs: options.notEnrolledMs ?? 3_600_000 },
      everyMs: options.everyMs ?? 45_000,
    },
  );
  await tokens.start();
  connectors.add('client', { venue: platformVenue, reads, tokens, log: silentLog });
  await connectors.begin();
  onTestFinished(async () => {
    await connectors.end();
    await tokens.drain();
    await http.close();
  });
  const states = () => connectors.status().flatMap(({ accounts }) => accounts.map(({ state }) => state));
  const live = () =>
    eventually(() => {
      expect(states().length).toBeGreaterThan(3);
      const accounts = connectors.status().flatMap((source) => source.accounts);
      const troubled = accounts.filter(({ state }) => state !== 'live' && state !== 'not_enrolled');
      expect(troubled).toEqual([]);
    });
  /** The orders that we hold otherwise than the platform does, of the accounts that we follow. */
  const wrong = async (): Promise<string[]> => {
    const { text } = await ask(`${description.control}/state`);
    const followed = new Set(connectors.status().flatMap(({ accounts }) => accounts.map(({ accountId }) => accountId)));
    const truths = text
      .split('\n')
      .filter((line) => line !== '')
      .map(parseTruth)
      .filter(({ accountId }) => followed.has(accountId));
    expect(truths.length).toBeGreaterThan(100);
    return truths.flatMap((truth) => {
      const head = sink.heads.get(orderKey(truth.stream, truth.orderId));
      if (head === undefined) return [`${truth.stream}:${truth.orderId}: missing`];
      const fields = differences(truth, { order: head.order, sourceVersion: head.sourceVersion?.toString() ?? null });
      return fields.length === 0 ? [] : [`${truth.stream}:${truth.orderId}: ${fields.join(', ')}`];
    });
  };
  /** The sum of a metric's values, of those whose labels hold `label`. */
  const count = async (metric: string, label: string) => {
    const found = (await metrics.registry.getMetricsAsJSON()).find(({ name }) => name === metric);
    const values = (found?.values ?? []).filter(({ labels }) => Object.values(labels).includes(label));
    return values.reduce((sum, { value }) => sum + value, 0);
  };
  const faults = (order: FaultOrder) => control(description, '/faults', order);
  /** The account's state on a stream; undefined: not followed. */
  const stateOf = (stream: 'account' | 'prediction', accountId: string) =>
    connectors
      .status()
      .find((source) => source.stream === stream)
      ?.accounts.find((account) => account.accountId === accountId)?.state;
  return { description, sink, count, live, wrong, states, stateOf, faults, connectors };
}

type Sign = readonly [metric: string, label: string];

/**
 * Lets the market move with the faults on until they were seen at work; then heals, and waits until
 * we agree with the platform about every order.
 */
async function agreesAfter(faults: FaultOrder, [metric, label]: Sign) {
  const rig = await following({
    market: { rate: 0, openOrders: 60, knownOrders: 200, seed: 11 },
    stream: { heartbeatMs: 200 },
  });
  await rig.live();
  const before = await rig.count(metric, label);
  expect((await rig.faults(faults)).status).toBe(200);
  await eventually(
    async () => {
      await control(rig.description, '/burst', { count: 200 });
      expect(await rig.count(metric, label)).toBeGreaterThan(before);
    },
    { everyMs: 50 },
  );
  await control(rig.description, '/heal');
  await rig.live();
  await eventually(async () => expect(await rig.wrong()).toEqual([]), { everyMs: 100 });
  return rig;
}

const event: Sign = ['tidemark_source_frames_total', 'event'];

describe('the connectors against the sandbox', () => {
  it('follow every account live, and agree about every order with nothing unreadable', async () => {
    const { sink, states } = await agreesAfter({}, event);
    expect([sink.unreadable, sink.conflicts]).toEqual([[], []]);
    expect(states()).toContain('not_enrolled');
    expect(sink.heads.size).toBeGreaterThan(200);
  });

  it.each<[string, FaultOrder, Sign]>([
    ['duplicates and reorders', { stream: { duplicate: 0.2, reorder: 0.3 } }, event],
    ['loses events silently', { stream: { silent_loss: 0.2 } }, ['tidemark_source_silent_losses_total', 'account']],
    ['loses events and then the connection', { stream: { drop: 0.002 } }, ['tidemark_source_gaps_total', 'account']],
    ['cuts connections', { stream: { cut: 0.002 } }, ['tidemark_source_reconnects_total', 'closed']],
    ['leaves connections half open', { stream: { half_open: 0.001 } }, ['tidemark_source_reconnects_total', 'idle']],
    ['sends garbage', { stream: { garbage: 0.01 } }, ['tidemark_source_decode_failures_total', 'account']],
    ['sends events of strangers', { stream: { foreign: 0.02 } }, ['tidemark_source_frames_total', 'foreign']],
    [
      'fails its lists in every way',
      { stream: { cut: 0.001 }, requests: { status_500: 0.15, status_429: 0.1, html: 0.15, torn: 0.1, reset: 0.1 } },
      ['tidemark_platform_request_seconds', '5xx'],
    ],
    ['shows old states in its lists', { stream: { silent_loss: 0.05 }, requests: { lag: 0.5 }, lagMs: 300 }, event],
    [
      'refuses tokens',
      { requests: { status_401: 0.2 }, now: [{ action: 'revoke_tokens' }] },
      ['tidemark_token_refresh_total', 'ok'],
    ],
  ])('agree again once it is healed when the platform %s', async (_, faults, sign) => {
    const { sink } = await agreesAfter(faults, sign);
    expect(sink.conflicts).toEqual([]);
  });

  it('follow an account that is opened, and follow it on while it is closed', async () => {
    const rig = await following({ market: { rate: 0, openOrders: 20, knownOrders: 40, seed: 13 } }, { everyMs: 100 });
    await rig.live();
    const owner = rig.description.users[0]?.username ?? '';
    const id = 'SIM-7001';
    const verb = async (path: string, body: object) =>
      expect((await control(rig.description, path, body)).status).toBe(200);
    const isLive = () =>
      eventually(() => expect([rig.stateOf('account', id), rig.stateOf('prediction', id)]).toEqual(['live', 'live']));
    await verb('/accounts', { id, username: owner, predictions: true });
    await isLive();
    await verb('/orders', { stream: 'prediction', accountId: id });
    await verb('/accounts/SIM-7001', { status: 'CLOSED' });
    await eventually(() => expect(rig.connectors.standing('account', id)?.isOpen).toBe(false));
    // Seen while the account is closed: nothing can be placed
    // there, and what is open can be cancelled.
    await verb('/orders', { stream: 'account', accountId: id });
    const streams = () =>
      [...rig.sink.heads.values()].filter(({ order }) => order.accountId === id).map(({ order }) => order.stream);
    await eventually(() => expect(streams().sort()).toEqual(['account', 'prediction']));
    await isLive();
  });

  it('see an account leave the beta of prediction orders while it is followed, and come back', async () => {
    const rig = await following(
      { market: { rate: 0, openOrders: 20, knownOrders: 40, seed: 14 } },
      { notEnrolledMs: 200 },
    );
    await rig.live();
    const id = 'SIM-1001';
    expect(rig.stateOf('prediction', id)).toBe('live');
    await control(rig.description, `/accounts/${id}`, { predictions: false });
    await eventually(() => expect(rig.stateOf('prediction', id)).toBe('not_enrolled'));
    expect(rig.stateOf('account', id)).toBe('live');
    await control(rig.description, `/accounts/${id}`, { predictions: true });
    await eventually(() => expect(rig.stateOf('prediction', id)).toBe('live'));
  });

  it('get through a lost store: every order that is left is held as the new store has it', async () => {
    const rig = await following({
      market: { rate: 0, openOrders: 60, knownOrders: 200, seed: 12, predictionShare: 1 },
    });
    await rig.live();
    const accountId =
      [...rig.sink.heads.values()].find(({ order }) => order.stream === 'prediction')?.order.accountId ?? '';
    await control(rig.description, '/burst', { count: 300 });
    await rig.faults({ now: [{ action: 'unknown_store_lost', accountId, forMs: 300, forgotten: 3 }] });
    await control(rig.description, '/burst', { count: 300 });
    await eventually(() =>
      expect([...rig.sink.heads.values()].some(({ order }) => order.sourceEpoch === 1)).toBe(true),
    );
    await rig.live();
    await eventually(async () => expect(await rig.wrong()).toEqual([]), { everyMs: 100 });
  });
});

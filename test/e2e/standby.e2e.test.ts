import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { sumOf } from '../../bench/prometheus-text.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { expectStateTopicWhole } from '../support/expect-state-topic.ts';
import { onServer } from '../support/on-server.ts';
import { eventually } from '../support/poll.ts';
import { call } from '../support/rest-call.ts';
import { control, controlLines, runningSandbox } from '../support/sandbox.ts';
import { nothingWrong, type RunningService, World } from '../support/service-under-test.ts';

const defaultLeases = { TIDEMARK_LEASE_RENEW_MS: '2000', TIDEMARK_LEASE_ACT_MS: '3000', TIDEMARK_LEASE_EXPIRE_MS: '6000' };
const leaseMs = 6_000;
const promisedMs = 10_000;
const order = { accountId: 'SIM-1001', symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };

/** A login of the service's role, as a setting: who wrote a row is then told by the database itself. */
async function loginFor(world: World, name: string): Promise<{ login: string; settings: { DATABASE_URL: string } }> {
  const login = `${name}_${randomBytes(6).toString('hex')}`;
  await onServer(world.databaseUrl, (client) =>
    client.query(`create role ${login} login password '${login}' in role tidemark_app`),
  );
  onTestFinished(async () => {
    await onServer(world.databaseUrl, (client) => client.query(`drop role ${login}`));
  });
  const url = new URL(world.databaseUrl);
  url.username = login;
  url.password = login;
  return { login, settings: { DATABASE_URL: url.href } };
}

const isOurs = ({ msg }: { msg: string }) => msg === 'the lane is ours';

function untilPublished(service: RunningService, least: number): Promise<number> {
  return service.waitMetric('tidemark_publish_records_total', { topic: 'updates', outcome: 'acknowledged' }, least);
}

it('a frozen holder is succeeded by the standby within 10 s, and writes and sends nothing when it wakes', async () => {
  const { description } = await runningSandbox({ market: { rate: 300, openOrders: 200, knownOrders: 300 } });
  const world = await World.create({
    platform: platformSettings(description),
    env: { ...defaultLeases, TIDEMARK_COMMANDS: 'on' },
  });
  await world.query('alter table order_updates add column written_by text default session_user');
  const [first, second] = [await loginFor(world, 'first'), await loginFor(world, 'second')];

  const holder = await world.serve(first.settings);
  await holder.waitLive();
  const standby = await world.serve(second.settings);
  await standby.awaitLog('standing by', ({ msg }) => /standing by/.test(msg));
  expect(standby.process.log().filter(isOurs)).toEqual([]);
  const before = (await holder.status()).lane;
  expect(before).toMatchObject({ role: 'holder', state: 'held', mayAct: true, holder: before.instance, takeovers: 1 });
  expect(before).toMatchObject({ takeover: { cause: 'first', from: null }, fenced: { postgres: 0, kafka: 0 } });
  const waiting = (await standby.status()).lane;
  expect(waiting).toMatchObject({ role: 'standby', state: 'standby', mayAct: false, holder: before.instance, takeovers: 0 });
  expect([waiting.epoch, waiting.instance === before.instance]).toEqual([before.epoch, false]);

  const machine = lateness();
  holder.process.signal('SIGSTOP');
  const frozenAt = systemClock.monotonicMs();
  // Waits in the frozen process's socket: the first thing that it reads when it wakes.
  const asked = call(holder, 'POST', '/v1/orders', { body: order });
  await standby.awaitLog('the lane', isOurs);
  const taken = (await standby.status()).lane;
  expect(taken).toMatchObject({ role: 'holder', holder: taken.instance, takeover: { cause: 'expired', from: before.instance } });
  expect(Number(taken.epoch)).toBeGreaterThan(Number(before.epoch));
  expect(taken.takeover.idleMs).toBeGreaterThanOrEqual(leaseMs);
  // By the database's clock. A machine that made us late made the standby and the database late as well, one after the other.
  expect(taken.takeover.idleMs).toBeLessThan(promisedMs + 5 * machine.stop());
  await untilPublished(standby, 100);
  await systemClock.sleep(2 * leaseMs - (systemClock.monotonicMs() - frozenAt));
  holder.process.signal('SIGCONT');

  const { status, headers, body } = await asked;
  expect([status, body.code, body.retryable, headers.get('retry-after')]).toEqual([503, 'NOT_LEADER', true, '2']);
  await holder.awaitLog('the loss of the lane', ({ msg }) =>
    msg.startsWith('the lane has another epoch: it was taken by another process'),
  );
  const published = await untilPublished(standby, 0);
  await untilPublished(standby, published + 100);
  await eventually(async () => expect((await holder.status()).lane.holder).toBe(taken.instance));
  const woken = (await holder.status()).lane;
  expect(woken).toMatchObject({ instance: before.instance, role: 'standby', mayAct: false, epoch: taken.epoch, takeovers: 1 });
  expect(woken.fenced.postgres).toBeGreaterThanOrEqual(1);
  expect(holder.process.log().filter(isOurs), 'it never took the lane back').toHaveLength(1);
  await expectShownByMetrics(holder, standby, { woken, taken });

  // The log's own order is the order of the commits: the first writer, then the second, and never the first again.
  expect(await writers(world)).toEqual([first.login, second.login]);
  expect(await world.query('select from commands')).toEqual([]);
  expect(await controlLines(description, '/ledger?kind=decision'), 'no order was ever sent').toEqual([]);
  await control(description, '/rate', { rate: 0 });
  await standby.waitLive();
  expect(await world.settledProof(description)).toMatchObject(nothingWrong);
  await expectStateTopicWhole(world);
  // As good a standby as any other: it takes the lane when that is given back.
  expect(await standby.stop()).toBe(0);
  await eventually(async () => expect((await holder.status()).lane).toMatchObject({ role: 'holder', takeovers: 2 }));
  expect((await holder.status()).lane.takeover).toMatchObject({ cause: 'released', from: null });
  await holder.waitLive();
  expect(await holder.stop()).toBe(0);
}, 300_000);

/** What `/status` says, in numbers. */
// biome-ignore lint/suspicious/noExplicitAny: a part of what `/status` answers
async function expectShownByMetrics(holder: RunningService, standby: RunningService, lane: { woken: any; taken: any }) {
  const [ours, theirs] = [await holder.metrics(), await standby.metrics()];
  expect([sumOf(ours, 'tidemark_lane_held', {}), sumOf(theirs, 'tidemark_lane_held', {})]).toEqual([0, 1]);
  for (const samples of [ours, theirs]) expect(sumOf(samples, 'tidemark_lane_epoch', {})).toBe(Number(lane.taken.epoch));
  expect(sumOf(ours, 'tidemark_fenced_total', { by: 'postgres' })).toBeGreaterThanOrEqual(lane.woken.fenced.postgres);
  expect(sumOf(theirs, 'tidemark_fenced_total', {})).toBe(0);
  expect(sumOf(ours, 'tidemark_lane_takeovers_total', { cause: 'first' })).toBe(1);
  expect(sumOf(theirs, 'tidemark_lane_takeovers_total', { cause: 'expired' })).toBe(1);
  const seconds = sumOf(theirs, 'tidemark_lane_takeover_seconds_sum', { cause: 'expired' });
  expect(seconds).toBeCloseTo(lane.taken.takeover.idleMs / 1000, 3);
}

/** How much later than asked for our own timers came, all together: what a busy machine adds to a time that somebody else promised. */
function lateness(): { stop(): number } {
  const everyMs = 100;
  let lateMs = 0;
  let dueMs = systemClock.monotonicMs() + everyMs;
  const timer = setInterval(() => {
    const nowMs = systemClock.monotonicMs();
    lateMs += Math.max(0, nowMs - dueMs);
    dueMs = nowMs + everyMs;
  }, everyMs);
  return {
    stop() {
      clearInterval(timer);
      return lateMs + Math.max(0, systemClock.monotonicMs() - dueMs);
    },
  };
}

it('a standby declines commands, halts and settlements, journals nothing, and answers reads', async () => {
  const { description } = await runningSandbox();
  const world = await World.create({ platform: platformSettings(description), env: { TIDEMARK_COMMANDS: 'on' } });
  const holder = await world.serve();
  await holder.waitLive();
  const standby = await world.serve();
  await standby.awaitLog('standing by', ({ msg }) => /standing by/.test(msg));
  await eventually(async () => {
    expect([(await standby.ready()).code, (await standby.ready('role=leader')).code]).toEqual([200, 503]);
    expect((await holder.ready('role=leader')).code).toBe(200);
  });

  const key = 'asked-of-the-standby-first';
  const declined = await call(standby, 'POST', '/v1/orders', { body: order, key });
  expect([declined.status, declined.headers.get('content-type'), declined.headers.get('retry-after')]).toEqual([
    503,
    'application/problem+json; charset=utf-8',
    '2',
  ]);
  expect(declined.body).toMatchObject({ code: 'NOT_LEADER', retryable: true, status: 503 });
  const halt = { reason: 'a drill' };
  expect((await call(standby, 'POST', '/v1/halt', { body: halt })).body).toMatchObject({ code: 'NOT_LEADER' });
  expect(await world.query('select from commands')).toEqual([]);
  expect(await world.query('select from halts')).toEqual([]);
  expect(await controlLines(description, '/ledger?kind=decision')).toEqual([]);
  expect((await call(standby, 'GET', '/v1/orders?limit=2')).body.items).toHaveLength(2);

  // The same request, elsewhere: the key was not used up.
  const placed = await call(holder, 'POST', '/v1/orders', { body: order, key, wait: 20 });
  expect([placed.status, placed.body.outcome, placed.headers.get('idempotent-replayed')]).toEqual([200, 'applied', null]);
  const seen = await call(standby, 'GET', `/v1/commands/${placed.body.commandId}`);
  expect(seen.body).toMatchObject({ commandId: placed.body.commandId, outcome: 'applied' });
  expect([await standby.stop(), await holder.stop()]).toEqual([0, 0]);
}, 180_000);

/** Who wrote the log, in its order, neighbours that are the same named once. */
async function writers(world: World): Promise<string[]> {
  const rows = await world.query<{ by: string }>(
    `select written_by as by from (select seq, written_by, lag(written_by) over (order by seq) as before from order_updates) as log
     where before is distinct from written_by order by seq`,
  );
  return rows.map(({ by }) => by);
}

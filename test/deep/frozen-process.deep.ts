import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { sumOf } from '../../bench/prometheus-text.ts';
import { shardOf } from '../../src/domain/partition.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, controlLines, runningSandbox } from '../support/platform/sandbox.ts';
import { call } from '../support/rest/rest-call.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { onServer } from '../support/servers/on-server.ts';
import { expectStateTopicWhole } from './parts/expect-state-topic.ts';
import { serveTogether, untilShardsAt } from './parts/serve-together.ts';

const defaultLeases = {
  TIDEMARK_LEASE_RENEW_MS: '2000',
  TIDEMARK_LEASE_MARGIN_MS: '3000',
  TIDEMARK_LEASE_TTL_MS: '6000',
};
const leaseMs = 6_000;
const promisedMs = 10_000;
const order = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };

/**
 * A login of the service's role, as a setting: who wrote a row is then told by the database itself.
 */
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
  return service.waitMetric('tidemark_publish_records_total', { topic: 'updates', result: 'acknowledged' }, least);
}

it('the lane of a frozen process is finished and its shards are taken within 10 s; it writes and sends nothing of them when it wakes, and is given shards again', async () => {
  const { description } = await runningSandbox({
    accounts: 8,
    market: { rate: 300, openOrders: 200, knownOrders: 300 },
  });
  const world = await World.create({
    platform: platformSettings(description),
    env: { ...defaultLeases, TIDEMARK_COMMANDS: 'on' },
  });
  await world.query('alter table order_updates add column written_by text default session_user');
  const logins = [await loginFor(world, 'first'), await loginFor(world, 'second')] as const;
  const [first, second] = await serveTogether(
    world,
    logins.map(({ settings }) => settings),
  );
  if (first === undefined || second === undefined) throw new Error('two were started');
  const before = (await first.status()).lane;
  expect(before).toMatchObject({
    lane: 0,
    role: 'holder',
    state: 'held',
    mayAct: true,
    holder: before.instance,
    takeovers: 1,
  });
  expect(before).toMatchObject({ takeover: { cause: 'first', from: null }, fenced: { postgres: 0, kafka: 0 } });
  const beside = (await second.status()).lane;
  expect(beside).toMatchObject({
    lane: 1,
    role: 'holder',
    state: 'held',
    mayAct: true,
    holder: beside.instance,
    takeovers: 1,
  });
  await Promise.all([first, second].map((service) => untilPublished(service, 100)));
  const accountId = await accountOf(world, 0);

  const machine = lateness();
  first.process.signal('SIGSTOP');
  const frozenAt = systemClock.monotonicMs();
  const [last] = await world.query<{ at: string }>('select renewed_at::text as at from lanes where lane = 0');
  // Waits in the frozen process's socket: the first thing that it reads when it wakes.
  const asked = call(first, 'POST', '/v1/orders', { body: { accountId, ...order }, forwarded: true });
  await untilShardsAt(world, [1]);
  await second.awaitLog(
    'the end of its lane',
    ({ msg, lane }) => lane === 0 && /a lane without a process was finished/.test(msg),
  );
  const [taken] = await world.query<{ idle: number }>(
    'select extract(epoch from max(since) - $1::timestamptz)::float * 1000 as idle from shards where lane = 1',
    [last?.at],
  );
  expect(taken?.idle).toBeGreaterThanOrEqual(leaseMs);
  // By the database's clock. A machine that made us late made the other process and the database
  // late as well, one after the other.
  expect(taken?.idle).toBeLessThan(promisedMs + 5 * machine.stop());
  const published = await untilPublished(second, 0);
  await untilPublished(second, published + 100);
  await systemClock.sleep(2 * leaseMs - (systemClock.monotonicMs() - frozenAt));
  const [woken] = await world.query<{ seq: string }>('select max(seq)::text as seq from order_updates');
  first.process.signal('SIGCONT');

  const { status, headers, body } = await asked;
  expect([status, body.code, body.retryable, headers.get('retry-after')]).toEqual([503, 'NOT_LEADER', true, '2']);
  await first.awaitLog('the loss of the lane', ({ msg }) =>
    msg.startsWith('the lane has another epoch: it was taken by another process'),
  );
  await eventually(async () => expect((await first.status()).lane).toMatchObject({ role: 'holder', takeovers: 2 }));
  const after = (await first.status()).lane;
  expect(after.fenced.postgres).toBeGreaterThanOrEqual(1);
  expect(after).toMatchObject({
    instance: before.instance,
    lane: 0,
    mayAct: true,
    takeover: { cause: 'released', from: null },
  });
  expect(Number(after.epoch)).toBeGreaterThan(Number(before.epoch));
  await expectShownByMetrics(first, second);
  const wroteSince = `select count(*)::int as rows from order_updates where written_by = $1 and seq > $2 and stream <> 'watermarks'
    and recorded_at < coalesce((select min(since) from shards where lane = 0), 'infinity')`;
  expect(await world.query(wroteSince, [logins[0].login, woken?.seq])).toEqual([{ rows: 0 }]);
  expect(await world.query('select from commands')).toEqual([]);
  expect(await controlLines(description, '/ledger?kind=decision'), 'no order was ever sent').toEqual([]);

  await untilShardsAt(world, [0, 1]);
  await first.waitLive();
  await control(description, '/rate', { rate: 0 });
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  await expectStateTopicWhole(world);
  await expectWritersInTurn(
    world,
    logins.map(({ login }) => login),
  );
  expect(await second.stop()).toBe(0);
  await untilShardsAt(world, [0]);
  await first.waitLive();
  expect(await first.stop()).toBe(0);
}, 300_000);

/** An account of a shard that the lane holds. */
async function accountOf(world: World, lane: number): Promise<string> {
  const rows = await world.query<{ lane: number }>('select lane from shards order by shard');
  const accounts = await world.query<{ id: string }>('select distinct account_id as id from orders');
  const found = accounts.find(({ id }) => rows[shardOf(id, rows.length)]?.lane === lane);
  if (found === undefined) throw new Error(`lane ${lane} has no account`);
  return found.id;
}

/** What `/status` says, in numbers. */
async function expectShownByMetrics(first: RunningService, second: RunningService) {
  for (const service of [first, second]) {
    const samples = await service.metrics();
    const { epoch, fenced, takeover, takeovers } = (await service.status()).lane;
    expect(sumOf(samples, 'tidemark_lane_held', {})).toBe(1);
    expect(sumOf(samples, 'tidemark_lane_epoch', {})).toBe(Number(epoch));
    expect(sumOf(samples, 'tidemark_fenced_total', { by: 'postgres' })).toBe(fenced.postgres);
    expect(sumOf(samples, 'tidemark_lane_takeovers_total', { cause: 'first' })).toBe(1);
    expect(sumOf(samples, 'tidemark_lane_takeovers_total', { cause: 'released' })).toBe(takeovers - 1);
    if (takeover.cause !== 'released') continue;
    const seconds = sumOf(samples, 'tidemark_lane_takeover_seconds_sum', { cause: 'released' });
    expect(seconds).toBeCloseTo(takeover.idleMs / 1000, 3);
  }
}

/**
 * The log's own order is the order of the commits: each account was written by the first process,
 * then by the second, and by the first only where it was given it again.
 */
async function expectWritersInTurn(world: World, logins: readonly string[]): Promise<void> {
  const rows = await world.query<{ account: string; by: string }>(
    `select account_id as account, written_by as by from (
       select seq, account_id, written_by, lag(written_by) over (partition by account_id order by seq) as before
       from order_updates where stream <> 'watermarks') as log
     where before is distinct from written_by order by account_id, seq`,
  );
  const lanes = await world.query<{ lane: number }>('select lane from shards order by shard');
  const turns = Map.groupBy(rows, ({ account }) => account);
  for (const [account, writers] of turns) {
    const names = writers.map(({ by }) => ['first', 'second'][logins.indexOf(by)]).join(' ');
    const isBack = lanes[shardOf(account, lanes.length)]?.lane === 0;
    expect(names, account).toMatch(isBack ? /^(first |)second( first|)$/ : /^(first |)second$/);
  }
  expect(turns.size).toBeGreaterThan(0);
}

/**
 * How much later than asked for our own timers came, all together: what a busy machine adds to a
 * time that somebody else promised.
 */
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

it('a process without shards has commands and resumes carried out by the others, journals no command by itself, halts the fleet, and answers reads', async () => {
  const { description } = await runningSandbox();
  const world = await World.create({ platform: platformSettings(description), env: { TIDEMARK_COMMANDS: 'on' } });
  const holder = await world.serve();
  await holder.waitLive();
  const other = await world.serve({ TIDEMARK_WEIGHT: '0' });
  await other.awaitLog('the lane', isOurs);
  await eventually(async () => {
    expect([(await other.ready()).code, (await holder.ready('role=leader')).code]).toEqual([200, 200]);
  });
  const body = { accountId: 'SIM-1001', ...order };

  const key = 'asked-of-the-other-first';
  const declined = await call(other, 'POST', '/v1/orders', { body, key, forwarded: true });
  expect([declined.status, declined.headers.get('content-type'), declined.headers.get('retry-after')]).toEqual([
    503,
    'application/problem+json; charset=utf-8',
    '2',
  ]);
  expect(declined.body).toMatchObject({ code: 'NOT_LEADER', retryable: true, status: 503 });
  const halt = { reason: 'a drill' };
  // A halt needs no shard.
  expect((await call(other, 'POST', '/v1/halt', { body: halt, forwarded: true })).status).toBe(200);
  expect(await world.query('select from halts where cleared_at is null')).toHaveLength(1);
  expect((await call(other, 'POST', '/v1/resume', { body: halt, forwarded: true })).body).toMatchObject({
    code: 'NOT_LEADER',
  });
  expect((await call(other, 'POST', '/v1/resume', { body: halt })).status).toBe(200);
  expect(await world.query('select from halts where cleared_at is null')).toEqual([]);
  expect(await world.query('select from commands')).toEqual([]);
  expect(await controlLines(description, '/ledger?kind=decision')).toEqual([]);
  expect((await call(other, 'GET', '/v1/orders?limit=2')).body.items).toHaveLength(2);

  // The same request, not forwarded yet: the key was not used up.
  const placed = await eventually(
    async () => {
      const answer = await call(other, 'POST', '/v1/orders', { body, key, wait: 20 });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer;
    },
    { everyMs: 250 },
  );
  expect([placed.body.result, placed.headers.get('idempotent-replayed')]).toEqual(['applied', null]);
  expect(placed.headers.get('tidemark-instance')).toBe((await holder.status()).lane.instance);
  const seen = await call(other, 'GET', `/v1/commands/${placed.body.commandId}`);
  expect(seen.body).toMatchObject({ commandId: placed.body.commandId, result: 'applied' });
  expect((await call(other, 'POST', '/v1/halt', { body: halt })).status).toBe(200);
  await eventually(async () => expect((await call(holder, 'GET', '/v1/halts')).body.halts).toHaveLength(1));
  expect([await other.stop(), await holder.stop()]).toEqual([0, 0]);
}, 180_000);

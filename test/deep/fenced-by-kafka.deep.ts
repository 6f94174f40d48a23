import { expect, it } from 'vitest';
import { sumOf } from '../../bench/prometheus-text.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { kafkaBehindProxy } from '../support/servers/network.ts';
import type { TcpProxy } from '../support/servers/tcp-proxy.ts';
import { expectStateTopicWhole } from './parts/expect-state-topic.ts';
import { KafkaRequests, transactionRequests } from './parts/kafka-requests.ts';
import { serveTogether, untilShardsAt } from './parts/serve-together.ts';

/**
 * Short, because a request to a broker is given up after 5 s: a process that was frozen for longer
 * gives its transaction up by itself, and there is nothing to fence. A machine that is too slow for
 * this costs a round more.
 */
const shortLeases = { TIDEMARK_LEASE_RENEW_MS: '200', TIDEMARK_LEASE_MARGIN_MS: '400', TIDEMARK_LEASE_TTL_MS: '1000' };
const mostRounds = 8;

it('a process that freezes in the middle of a transaction is fenced by Kafka when it wakes, and what it had sent is never seen', async () => {
  const { description } = await runningSandbox({
    accounts: 8,
    market: { rate: 300, openOrders: 200, knownOrders: 300 },
  });
  const network = await kafkaBehindProxy();
  const world = await World.create({
    ...{ brokers: [network.address], platform: platformSettings(description) },
    env: { ...shortLeases, TIDEMARK_STATE_FLUSH_MS: '100' },
  });
  const pair = await serveTogether(world, [{}, {}]);
  let fenced = 0;
  for (let round = 0; round < mostRounds && fenced === 0; round += 1) {
    const { holder, other } = await roles(world, pair);
    await holder.waitLive();
    await stateAcknowledged(holder, 1);
    const before = (await holder.status()).lane;
    await frozenInTransaction(network, { holder, lane: before.lane });
    const written = await acknowledged(other);
    await untilShardsAt(world, [(await other.status()).lane.lane]);
    await stateAcknowledged(other, written + 1);
    holder.process.signal('SIGCONT');
    // By its own word. How it learns that its lane is gone, by a refused write, a look or a request
    // that was under way for too long, is the machine's doing.
    await eventually(async () => expect((await holder.status()).lane.takeovers).toBeGreaterThan(before.takeovers));
    await eventually(async () => expect((await holder.status()).lane).toMatchObject({ role: 'holder', mayAct: true }));
    fenced = (await holder.status()).lane.fenced.kafka;
    if (fenced > 0) await expectTold(holder);
  }
  expect(fenced, `none in ${mostRounds} rounds`).toBeGreaterThan(0);

  await control(description, '/rate', { rate: 0 });
  const { holder } = await roles(world, pair);
  await holder.waitLive();
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  await expectStateTopicWhole(world);
  expect(await Promise.all(pair.map((service) => service.stop()))).toEqual([0, 0]);
}, 360_000);

/** The one that holds most shards, and the other one, each in its lane. */
async function roles(
  world: World,
  pair: readonly RunningService[],
): Promise<{ holder: RunningService; other: RunningService }> {
  return eventually(async () => {
    const [most] = await world.query<{ lane: number | null }>(
      'select lane from shards group by lane order by count(*) desc limit 1',
    );
    const lanes = await Promise.all(pair.map(async (service) => (await service.status()).lane));
    expect(lanes.map(({ role }) => role)).toEqual(['holder', 'holder']);
    const at = lanes.findIndex(({ lane }) => lane === most?.lane);
    const [holder, other] = [pair[at], pair[1 - at]];
    if (at < 0 || holder === undefined || other === undefined) throw new Error('most shards are free');
    return { holder, other };
  });
}

const ofState = { topic: 'state', result: 'acknowledged' };

async function acknowledged(service: RunningService): Promise<number> {
  return sumOf(await service.metrics(), 'tidemark_publish_records_total', ofState);
}

function stateAcknowledged(service: RunningService, least: number): Promise<number> {
  return service.waitMetric('tidemark_publish_records_total', ofState, least);
}

/**
 * Freezes it after it has sent rows of a transaction, and before it can know that they arrived: so
 * before it can commit them.
 */
async function frozenInTransaction(
  network: TcpProxy,
  { holder, lane }: { readonly holder: RunningService; readonly lane: number },
): Promise<void> {
  const requests = new KafkaRequests();
  await new Promise<void>((resolve) => {
    network.tap = (chunk, connection) => {
      for (const { apiKey, bytes } of requests.take(chunk, connection)) {
        // The transactions of the other process name its own lane, and
        // the log topics are sent without one.
        if (apiKey !== transactionRequests.produce || !bytes.includes(`order-state.v1.lane-${lane}`)) continue;
        network.tap = () => undefined;
        // In this turn, so before the answer can pass: what is received
        // while it is frozen is read when it wakes.
        holder.process.signal('SIGSTOP');
        resolve();
      }
    };
  });
}

async function expectTold(holder: RunningService): Promise<void> {
  const samples = await holder.metrics();
  expect(sumOf(samples, 'tidemark_fenced_total', { by: 'kafka' })).toBeGreaterThan(0);
  expect(sumOf(samples, 'tidemark_producer_replaced_total', { reason: 'fenced' })).toBeGreaterThan(0);
  await holder.awaitLog('the word of the broker', ({ code }) => code === 'fenced');
}

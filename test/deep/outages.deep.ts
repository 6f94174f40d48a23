import { expect, it, onTestFinished } from 'vitest';
import { sumOf } from '../../bench/prometheus-text.ts';
import { startEmbeddedKafka } from '../../src/demo/devstack/start-embedded-kafka.ts';
import { startEmbeddedPostgres } from '../../src/demo/devstack/start-postgres.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import type { SandboxDescription } from '../../src/sandbox/describe-sandbox.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { migrate } from '../../src/store/migrate.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { silentLog } from '../support/runs/silent-log.ts';
import { printedRandom } from '../support/runs/test-seed.ts';
import { cacheDir } from '../support/servers/cache-dir.ts';
import { proxyTo, through } from '../support/servers/network.ts';
import { onServer } from '../support/servers/on-server.ts';
import type { Behaviour } from '../support/servers/tcp-pipe.ts';
import type { TcpProxy } from '../support/servers/tcp-proxy.ts';

const quiet = { clock: systemClock, log: silentLog };
const underLoad = { market: { rate: 200, openOrders: 150, knownOrders: 200 } };

async function acknowledged(service: RunningService): Promise<number> {
  const samples = await service.metrics();
  return sumOf(samples, 'tidemark_publish_records_total', { topic: 'updates', result: 'acknowledged' });
}

/** Until further updates have gone the whole way since now. */
async function expectRecovery(service: RunningService): Promise<void> {
  const labels = { topic: 'updates', result: 'acknowledged' };
  await service.waitMetric('tidemark_publish_records_total', labels, (await acknowledged(service)) + 50, 60_000);
}

async function expectNothingWrong(world: World, service: RunningService, sandbox: SandboxDescription): Promise<void> {
  await service.waitLive();
  await control(sandbox, '/rate', { rate: 0 });
  expect(await world.resolvedProof(sandbox)).toMatchObject(nothingWrong);
  expect(service.process.log().filter(({ level }) => level === 'fatal')).toEqual([]);
}

/**
 * Until the service has given up connections through the proxy for
 * others, which shows that it met the fault.
 */
async function reconnecting(network: TcpProxy, fault: Behaviour): Promise<void> {
  const before = network.accepted;
  network.behave(fault, 'toClient');
  await eventually(() => expect(network.accepted).toBeGreaterThan(before));
  network.behave({ kind: 'pass' });
}

it('Postgres killed, its sessions ended, its network half open and cut in the middle of answers: nothing is lost', async () => {
  const random = printedRandom('outages of Postgres');
  const postgres = await startEmbeddedPostgres(quiet, { fast: false });
  onTestFinished(() => postgres.stop());
  await migrate({ url: postgres.url, ...quiet });
  const { description } = await runningSandbox(underLoad);
  const world = await World.create({ databaseUrl: postgres.url, platform: platformSettings(description) });
  const network = await proxyTo(postgres.url);
  const service = await world.serve({ DATABASE_URL: through(network, postgres.url) });
  await service.waitLive();

  process.kill(postgres.pid, 'SIGKILL');
  await postgres.restart();
  await expectRecovery(service);

  await onServer(postgres.url, (client) =>
    client.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'tidemark%'`),
  );
  await expectRecovery(service);

  // Somewhere in an answer: before, in or behind that of a commit.
  for (let cut = 0; cut < 8; cut += 1) {
    await reconnecting(network, { kind: 'after', bytes: Math.floor(random.next() * 3_000), ending: 'reset' });
    await expectRecovery(service);
  }

  // Half open: only the service's own deadlines can tell.
  await reconnecting(network, { kind: 'swallow' });
  await expectRecovery(service);
  await expectNothingWrong(world, service, description);
}, 300_000);

it('a Kafka that is killed, and one that freezes for longer than a request may take: nothing is lost', async () => {
  const kafka = await startEmbeddedKafka(quiet, { cacheDir });
  onTestFinished(() => kafka.stop());
  const { description } = await runningSandbox(underLoad);
  const world = await World.create({ brokers: kafka.brokers, platform: platformSettings(description) });
  const service = await world.serve();
  await service.waitLive();
  await expectRecovery(service);

  const broker = () => kafka.nodes[0]?.pid ?? 0;
  process.kill(broker(), 'SIGKILL');
  await replacedSince(service, () => kafka.restartNode(1));
  await expectRecovery(service);

  process.kill(broker(), 'SIGSTOP');
  await replacedSince(service, async () => undefined);
  process.kill(broker(), 'SIGCONT');
  await expectRecovery(service);
  await expectNothingWrong(world, service, description);
}, 300_000);

it('a platform that cuts, resets, tears frames apart, falls silent or is gone for a while: nothing is lost', async () => {
  const { description } = await runningSandbox(underLoad);
  const [production, staging] = [await proxyTo(description.platform), await proxyTo(description.staging)];
  const world = await World.create({
    platform: {
      ...platformSettings(description),
      PLATFORM_URL: through(production, description.platform),
      PLATFORM_STAGING_URL: through(staging, description.staging),
      PLATFORM_STREAM_URL: through(production, description.stream),
      PLATFORM_STAGING_STREAM_URL: through(staging, description.stagingStream),
    },
  });
  const service = await world.serve();
  await service.waitLive();
  const both = (act: (proxy: TcpProxy) => unknown) => Promise.all([act(production), act(staging)]);
  const behave = (behaviour: Behaviour) => both((proxy) => proxy.behave(behaviour, 'toClient'));

  for (const how of ['fin', 'reset'] as const) {
    await both((proxy) => proxy.cut(how));
    await service.waitLive();
    await expectRecovery(service);
  }

  // 1,337 bytes of each connection, then nothing or its end: an event is torn in the middle, and so
  // are the answers of the lists.
  for (const ending of ['reset', 'fin', 'swallow'] as const) {
    const before = await reconnects(service);
    await behave({ kind: 'after', bytes: 1_337, ending });
    await service.waitMetric('tidemark_source_reconnects_total', {}, before + 2);
    await behave({ kind: 'pass' });
    await service.waitLive();
    await expectRecovery(service);
  }

  await both((proxy) => proxy.refuse());
  await both((proxy) => proxy.cut('reset'));
  await service.awaitLog('the platform is gone', ({ msg, to }) => msg === 'account state' && to === 'down');
  await both((proxy) => proxy.accept());
  await service.waitLive();
  await expectRecovery(service);
  await expectNothingWrong(world, service, description);
}, 300_000);

async function reconnects(service: RunningService): Promise<number> {
  return sumOf(await service.metrics(), 'tidemark_source_reconnects_total', {});
}

/**
 * Until the service has given up a producer, which shows that it
 * met the fault; `meanwhile` runs beside it.
 */
async function replacedSince(service: RunningService, meanwhile: () => Promise<void>): Promise<void> {
  const before = sumOf(await service.metrics(), 'tidemark_producer_replaced_total', {});
  await Promise.all([service.waitMetric('tidemark_producer_replaced_total', {}, before + 1, 60_000), meanwhile()]);
}

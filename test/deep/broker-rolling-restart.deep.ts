import { expect, it, onTestFinished } from 'vitest';
import { sumOf } from '../../bench/prometheus-text.ts';
import { startEmbeddedKafka } from '../../src/demo/devstack/start-embedded-kafka.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { silentLog } from '../support/runs/silent-log.ts';
import { cacheDir } from '../support/servers/cache-dir.ts';

/** Until both have sent so many further records: accounts go from one to the other meanwhile. */
async function further(services: readonly RunningService[], topic: 'updates' | 'state'): Promise<void> {
  const sent = async () => {
    const each = await Promise.all(services.map((service) => service.metrics()));
    const labels = { topic, result: 'acknowledged' };
    return each.reduce((sum, samples) => sum + sumOf(samples, 'tidemark_publish_records_total', labels), 0);
  };
  const before = await sent();
  await eventually(async () => expect(await sent()).toBeGreaterThan(before + 100), { deadlineMs: 60_000 });
}

it('three brokers restarted one after the other under load, by a stop and by a kill, then two killed at once: nothing is lost, and two processes get ready again each time', async () => {
  const kafka = await startEmbeddedKafka({ clock: systemClock, log: silentLog }, { cacheDir, nodes: 3 });
  onTestFinished(() => kafka.stop());
  const { description } = await runningSandbox({ market: { rate: 100, openOrders: 50, knownOrders: 100 } });
  const world = await World.create({ brokers: kafka.brokers, platform: platformSettings(description) });
  const services = [await world.serve(), await world.serve()];
  const flowing = async () => {
    await further(services, 'updates');
    await further(services, 'state');
    for (const service of services)
      await eventually(async () => expect((await service.ready()).code).toBe(200), { deadlineMs: 60_000 });
  };
  await flowing();
  for (const signal of ['SIGTERM', 'SIGKILL'] as const)
    for (const { id } of kafka.nodes) {
      process.kill(kafka.nodes.find((node) => node.id === id)?.pid ?? 0, signal);
      // The other two take what the one led.
      await further(services, 'updates');
      await kafka.restartNode(id);
      await flowing();
    }
  // Two at once: no record is acknowledged by one alone, so updates wait in the database.
  for (const { id, pid } of kafka.nodes) if (id > 1) process.kill(pid ?? 0, 'SIGKILL');
  for (const service of services)
    await eventually(
      async () => expect(await service.ready()).toMatchObject({ code: 200, body: { status: 'degraded' } }),
      { deadlineMs: 60_000 },
    );
  for (const { id } of kafka.nodes) if (id > 1) await kafka.restartNode(id);
  await flowing();
  await control(description, '/rate', { rate: 0 });
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  for (const service of services) {
    expect(service.process.log().filter(({ level }) => level === 'fatal' || level === 'error')).toEqual([]);
    expect(await service.stop()).toBe(0);
  }
}, 400_000);

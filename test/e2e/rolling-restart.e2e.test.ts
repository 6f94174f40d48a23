import { expect, it } from 'vitest';
import { sumOf } from '../../bench/prometheus-text.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/sandbox.ts';
import { nothingWrong, type RunningService, World } from '../support/service-under-test.ts';

async function standingBy(world: World): Promise<RunningService> {
  const service = await world.serve();
  await service.awaitLog('standing by', ({ msg }) => /standing by/.test(msg));
  return service;
}

async function held(service: RunningService): Promise<number> {
  return sumOf(await service.metrics(), 'tidemark_lane_held', {});
}

it('two instances, each restarted in turn under load, lose and double nothing', async () => {
  const { description } = await runningSandbox({ market: { rate: 200, openOrders: 100, knownOrders: 150 } });
  const world = await World.create({ platform: platformSettings(description) });
  let holder = await world.serve();
  await holder.waitLive();
  let standby = await standingBy(world);
  const epochs: number[] = [];
  for (let restarts = 0; restarts < 2; restarts += 1) {
    epochs.push(Number((await holder.status()).lane.epoch));
    expect([await held(holder), await held(standby)]).toEqual([1, 0]);
    await holder.waitMetric('tidemark_publish_records_total', { topic: 'updates', outcome: 'acknowledged' }, 100);
    expect(await holder.stop()).toBe(0);
    await standby.awaitLog('the lane', ({ msg }) => msg === 'the lane is ours');
    // Given back, not left to expire.
    expect((await standby.status()).lane).toMatchObject({ role: 'holder', takeover: { cause: 'released' } });
    await standby.waitLive();
    holder = standby;
    standby = await standingBy(world);
  }
  epochs.push(Number((await holder.status()).lane.epoch));
  expect(epochs).toEqual([...epochs].sort((a, b) => a - b));
  expect(new Set(epochs).size, 'each holder had an epoch of its own').toBe(3);
  await holder.waitMetric('tidemark_publish_records_total', { topic: 'updates', outcome: 'acknowledged' }, 100);
  await control(description, '/rate', { rate: 0 });
  await holder.waitLive();
  expect(await world.settledProof(description)).toMatchObject(nothingWrong);
  expect([await holder.stop(), await standby.stop()]).toEqual([0, 0]);
}, 300_000);

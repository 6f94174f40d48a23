import { expect, it } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { longLeases, serveTogether, untilShardsAt } from './parts/serve-together.ts';

const ofUpdates = { topic: 'updates', result: 'acknowledged' };

async function further(service: RunningService): Promise<void> {
  const before = await service.waitMetric('tidemark_publish_records_total', ofUpdates, 0);
  await service.waitMetric('tidemark_publish_records_total', ofUpdates, before + 100);
}

it('two processes, each restarted in turn under load, lose and double nothing', async () => {
  const { description } = await runningSandbox({
    accounts: 8,
    market: { rate: 200, openOrders: 100, knownOrders: 150 },
  });
  const world = await World.create({ platform: platformSettings(description), env: longLeases });
  let [next, other] = await serveTogether(world, [{}, {}]);
  for (let restarts = 0; restarts < 2; restarts += 1) {
    if (next === undefined || other === undefined) throw new Error('two were started');
    await further(next);
    const before = (await next.status()).lane;
    expect(before.role).toBe('holder');
    expect(await next.stop()).toBe(0);
    // Given back with its lane, not left for others to finish.
    expect(await world.query('select shard from shards where lane = $1', [before.lane])).toEqual([]);
    expect(await world.query('select holder from lanes where lane = $1', [before.lane])).toEqual([{ holder: null }]);
    await untilShardsAt(world, [(await other.status()).lane.lane]);
    const again = await world.serve();
    await again.awaitLog('the lane', ({ msg }) => msg === 'the lane is ours');
    const after = (await again.status()).lane;
    expect(after).toMatchObject({ role: 'holder', lane: before.lane, takeover: { cause: 'released' } });
    expect(Number(after.epoch), 'each holder has an epoch of its own').toBeGreaterThan(Number(before.epoch));
    await further(other);
    [next, other] = [other, again];
  }
  if (next === undefined || other === undefined) throw new Error('two were started');
  await control(description, '/rate', { rate: 0 });
  await other.waitLive();
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  expect([await other.stop(), await next.stop()]).toEqual([0, 0]);
}, 300_000);

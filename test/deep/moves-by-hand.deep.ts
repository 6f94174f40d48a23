import { expect, it } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { call } from '../support/rest/rest-call.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { longLeases, serveTogether, untilShardsAt } from './parts/serve-together.ts';

const ofUpdates = { topic: 'updates', result: 'acknowledged' };
const body = { reason: 'a new kernel' };

async function further(service: RunningService): Promise<void> {
  const before = await service.waitMetric('tidemark_publish_records_total', ofUpdates, 0);
  await service.waitMetric('tidemark_publish_records_total', ofUpdates, before + 100);
}

it('a process that is drained under load gives its shards, pinned or not, stays, and gets back its part but for those that are pinned', async () => {
  const { description } = await runningSandbox({ accounts: 8, market: { rate: 100, openOrders: 50, knownOrders: 50 } });
  const world = await World.create({ platform: platformSettings(description), env: longLeases });
  const [one, two] = await serveTogether(world, [{}, {}]);
  if (one === undefined || two === undefined) throw new Error('two were started');
  await Promise.all([further(one), further(two)]);
  const held = async (lane: number) =>
    (await world.query<{ shard: number }>('select shard from shards where lane = $1 order by shard', [lane])).map(
      ({ shard }) => shard,
    );
  const [first = -1] = await held(0);
  expect((await call(one, 'POST', `/v1/fleet/shards/${first}/pin`, { body })).status).toBe(200);
  const { holder } = (await one.status()).lane;
  // Asked of the other one: any instance takes it.
  const drained = await call(two, 'POST', `/v1/fleet/instances/${holder}/drain`, { body });
  expect([drained.status, drained.body.lanes[0]]).toMatchObject([200, { lane: 0, drained: true, weight: 0 }]);
  await untilShardsAt(world, [1]);
  expect((await one.status()).lane).toMatchObject({ role: 'holder', lane: 0, holder });
  await further(two);
  expect((await call(one, 'POST', `/v1/fleet/instances/${holder}/undrain`, { body })).status).toBe(200);
  await eventually(async () => expect((await held(0)).length).toBeGreaterThanOrEqual(2), {
    deadlineMs: 60_000,
    everyMs: 200,
  });
  expect(await held(1)).toContain(first);
  await control(description, '/rate', { rate: 0 });
  await Promise.all([one.waitLive(), two.waitLive()]);
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  expect([await one.stop(), await two.stop()]).toEqual([0, 0]);
  expect(await world.query("select action from audit_log where action like 'fleet_%' order by id")).toEqual([
    { action: 'fleet_pin' },
    { action: 'fleet_drain' },
    { action: 'fleet_undrain' },
  ]);
}, 300_000);

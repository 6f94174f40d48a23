import { expect, it } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, World } from '../support/runs/service-under-test.ts';
import { expectStateTopicWhole } from './parts/expect-state-topic.ts';

const shortLeases = { TIDEMARK_LEASE_RENEW_MS: '200', TIDEMARK_LEASE_MARGIN_MS: '900', TIDEMARK_LEASE_TTL_MS: '1500' };

it('two equal processes share all accounts; one is killed, and the other takes over what it had', async () => {
  const { description } = await runningSandbox({ market: { rate: 200, openOrders: 100, knownOrders: 150 } });
  const world = await World.create({ platform: platformSettings(description), env: shortLeases });
  const shardsOf = async () => {
    const rows = await world.query<{ lane: number | null; shards: number }>(
      'select lane, count(*)::int as shards from shards group by lane order by lane',
    );
    return rows.map(({ lane, shards }) => `${lane}: ${shards}`);
  };
  const one = await world.serve();
  await one.waitLive();
  expect(await shardsOf()).toEqual(['0: 16']);
  const two = await world.serve();
  await eventually(async () => expect(await shardsOf()).toEqual(['0: 8', '1: 8']), {
    deadlineMs: 120_000,
    everyMs: 500,
  });
  await two.waitMetric('tidemark_publish_records_total', { topic: 'updates', result: 'acknowledged' }, 100);
  await one.kill9();
  await eventually(async () => expect(await shardsOf()).toEqual(['1: 16']), { deadlineMs: 60_000, everyMs: 250 });
  const three = await world.serve();
  await eventually(async () => expect((await shardsOf()).length).toBe(2), { deadlineMs: 60_000, everyMs: 500 });
  await control(description, '/rate', { rate: 0 });
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  await expectStateTopicWhole(world);
  expect(await Promise.all([two.stop(), three.stop()])).toEqual([0, 0]);
  expect(await shardsOf()).toEqual(['null: 16']);
}, 300_000);

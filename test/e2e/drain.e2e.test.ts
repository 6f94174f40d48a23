import { expect, it } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { nothingWrong, World } from '../support/runs/service-under-test.ts';

/**
 * No shard is taken or given any more, no new command, then no input, then each part empties into
 * the next; shards and lane are given back when nothing of ours can write any more, and REST ends
 * when all of it is out. What stands between is free to change.
 */
const wayOfTheData = [
  'fleet',
  'commands',
  'credentials',
  'ingest',
  'relay',
  'shards',
  'lane-keeper',
  'kafka',
  'rest',
  'database',
  'admin',
];

it('SIGTERM under load drains step by step and loses nothing; asked twice, it ends at once and loses nothing either', async () => {
  const { description } = await runningSandbox({ market: { rate: 500, openOrders: 200, knownOrders: 300 } });
  const world = await World.create({ platform: platformSettings(description) });
  const polite = await world.serve();
  await polite.waitLive();
  await polite.waitMetric('tidemark_publish_records_total', { topic: 'updates', result: 'acknowledged' }, 500);
  expect(await polite.stop()).toBe(0);
  const end = await polite.awaitLog('the end of the drain', ({ msg }) => msg === 'drained');
  expect(end).toMatchObject({ ms: expect.any(Number), unclean: [] });
  const drained = polite.process.log().filter(({ msg }) => msg === 'drain step');
  const steps = drained.map(({ part }) => String(part));
  expect(steps.filter((step) => wayOfTheData.includes(step))).toEqual(wayOfTheData);
  expect([steps.at(0), steps.at(1), steps.at(-1)]).toEqual(['fleet', 'commands', 'admin']);
  for (const step of drained) expect(step).toMatchObject({ ms: expect.any(Number), result: 'drained' });
  // What it had committed, it had published; and its shards and
  // its lane are free for the next process.
  const rest = await world.query(
    `select from order_updates where seq > (select seq from relay_positions where cursor = 'log') and stream <> 'watermarks'`,
  );
  expect(rest).toEqual([]);
  expect(await world.query('select holder from lanes')).toEqual([{ holder: null }]);
  expect(await world.query('select shard from shards where lane is not null')).toEqual([]);

  const hasty = await world.serve();
  await hasty.awaitLog('the lane', ({ msg }) => msg === 'the lane is ours');
  await hasty.waitMetric('tidemark_publish_records_total', { topic: 'updates', result: 'acknowledged' }, 100);
  hasty.process.signal('SIGTERM');
  hasty.process.signal('SIGINT');
  expect([128 + 2, 128 + 15]).toContain(await hasty.process.exited);
  expect(hasty.process.log().filter(({ msg }) => msg === 'drained')).toEqual([]);

  const last = await world.serve();
  await last.waitLive();
  await control(description, '/rate', { rate: 0 });
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
}, 240_000);

import { expect, it } from 'vitest';
import { control, runningSandbox } from '../support/sandbox.ts';
import { nothingWrong, platformOf, World } from '../support/service-under-test.ts';

/** The way of the data, then what it stood on. */
const steps = [
  ...['connectors', 'ingest', 'relay', 'state-writer', 'lane-keeper', 'canary-reader', 'kafka', 'token-source', 'platform-http'],
  ...['housekeeping', 'schema-gate', 'database', 'admin'],
];

it('SIGTERM under load drains step by step and loses nothing; asked twice, it ends at once and loses nothing either', async () => {
  const { description } = await runningSandbox({ market: { rate: 500, openOrders: 200, knownOrders: 300 } });
  const world = await World.create({ platform: platformOf(description) });
  const polite = await world.serve();
  await polite.waitLive();
  await polite.waitMetric('tidemark_publish_records_total', { topic: 'updates', outcome: 'acknowledged' }, 500);
  expect(await polite.stop()).toBe(0);
  const end = await polite.awaitLog('the end of the drain', ({ msg }) => msg === 'drained');
  expect(end).toMatchObject({ ms: expect.any(Number), unclean: [] });
  const drained = polite.process.log().filter(({ msg }) => msg === 'drain step');
  expect(drained.map(({ service }) => service)).toEqual(steps);
  for (const step of drained) expect(step).toMatchObject({ ms: expect.any(Number), outcome: 'drained' });
  // What it had committed, it had published; and the lane is free for whoever comes next.
  const rest = await world.query(
    `select from order_updates where seq > (select seq from relay_positions where cursor = 'log') and stream <> 'continuity'`,
  );
  expect(rest).toEqual([]);
  expect(await world.query('select holder from lanes')).toEqual([{ holder: null }]);

  const hasty = await world.serve();
  await hasty.awaitLog('the lane', ({ msg }) => msg === 'the lane is ours');
  await hasty.waitMetric('tidemark_publish_records_total', { topic: 'updates', outcome: 'acknowledged' }, 100);
  hasty.process.signal('SIGTERM');
  hasty.process.signal('SIGINT');
  expect([128 + 2, 128 + 15]).toContain(await hasty.process.exited);
  expect(hasty.process.log().filter(({ msg }) => msg === 'drained')).toEqual([]);

  const last = await world.serve();
  await last.waitLive();
  await control(description, '/rate', { rate: 0 });
  expect(await world.settledProof(description)).toMatchObject(nothingWrong);
}, 120_000);

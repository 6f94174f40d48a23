import { expect, it } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import type { TidemarkProcess } from '../support/runs/tidemark-process.ts';
import { newerBuild } from './parts/newer-build.ts';
import { longLeases, serveTogether, untilShardsAt } from './parts/serve-together.ts';

const adding = { sql: 'alter table public.orders add column told_later text;', older: true };
const breaking = { sql: 'alter table public.orders rename column state to whole_state;', older: false };

async function joined(service: RunningService): Promise<RunningService> {
  await service.awaitLog('the lane', ({ msg }) => msg === 'the lane is ours');
  return service;
}

function further(service: RunningService): Promise<number> {
  const labels = { topic: 'updates', result: 'acknowledged' };
  return service
    .waitMetric('tidemark_publish_records_total', labels, 0)
    .then((before) => service.waitMetric('tidemark_publish_records_total', labels, before + 100));
}

async function ended(process: TidemarkProcess): Promise<{ code: number; text: string }> {
  const code = await process.exited;
  return { code, text: process.lines.join('\n') };
}

/** Whether probes send it traffic, and what it says of the schema. */
async function schemaOf(service: RunningService): Promise<{ code: number; ok: boolean; detail: string }> {
  const { code, body } = await service.ready();
  const { ok, detail } = body.checks.find(({ name }: { name: string }) => name === 'schema');
  return { code, ok, detail };
}

it('a newer build migrates and takes over process by process under load, the older one is ready until it goes and can come back', async () => {
  const { description } = await runningSandbox({
    accounts: 8,
    market: { rate: 200, openOrders: 100, knownOrders: 150 },
  });
  const world = await World.create({ platform: platformSettings(description), env: longLeases });
  const newer = await newerBuild('0.2.0', [adding]);
  const [older, olderBeside] = await serveTogether(world, [{}, {}]);
  if (older === undefined || olderBeside === undefined) throw new Error('two were started');

  // Too early: it waits, unready, and takes no lane.
  const early = await world.serve({}, newer.entry);
  await early.awaitLog(
    'the missing migration',
    ({ msg }) => msg === '1 migration is not applied: run `tidemark migrate`',
  );
  await eventually(async () => expect(await schemaOf(early)).toMatchObject({ code: 503, ok: false }));
  expect((await early.status()).lane).toMatchObject({ role: 'standby', takeovers: 0 });

  const migrated = await ended(await world.run(['migrate', '--json'], {}, newer.entry));
  expect([migrated.code, migrated.text]).toEqual([0, expect.stringContaining(JSON.stringify({ applied: newer.tags }))]);
  const beside = 'the database was migrated by a newer build, beside which this one may run';
  for (const service of [older, olderBeside])
    await eventually(async () => expect(await schemaOf(service)).toEqual({ code: 200, ok: true, detail: beside }));
  await further(older);
  await eventually(async () => expect(await schemaOf(early)).toMatchObject({ code: 200, ok: true }));
  expect((await ended(await world.run(['migrate']))).text, 'the job of the older build as well').toContain(
    'nothing to do',
  );

  // One after the other: there is always one that can take the shards.
  await joined(early);
  const { lane } = (await early.status()).lane;
  expect(await olderBeside.stop()).toBe(0);
  await untilShardsAt(world, [0, lane]);
  expect(await older.stop()).toBe(0);
  await untilShardsAt(world, [lane]);
  await early.waitLive();
  expect(await early.status()).toMatchObject({
    version: '0.2.0',
    lane: { role: 'holder', takeover: { cause: 'first' } },
  });
  await further(early);

  // Back again: what the newer build wrote is no hindrance.
  const back = await joined(await world.serve());
  await eventually(async () => expect(await schemaOf(back)).toEqual({ code: 200, ok: true, detail: beside }));
  expect(await early.stop()).toBe(0);
  await back.waitLive();
  await further(back);
  await control(description, '/rate', { rate: 0 });
  await back.waitLive();
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  expect(await back.stop()).toBe(0);
}, 360_000);

it('a migration that the older build cannot run beside waits until that is stopped, and keeps it out from then on', async () => {
  const { description } = await runningSandbox({ market: { rate: 50 } });
  const world = await World.create({ platform: platformSettings(description), env: longLeases });
  const newer = await newerBuild('2.0.0', [breaking]);
  const older = await world.serve();
  await older.waitLive();
  const { instance } = (await older.status()).lane;

  const refused = await ended(await world.run(['migrate'], {}, newer.entry));
  expect(refused.code).toBe(69);
  expect(refused.text).toContain(`${instance} holds lane 0, and its build cannot go on beside this migration`);
  expect(refused.text).toContain('Stop every instance of the older build, then run it again');
  await further(older);
  await eventually(async () =>
    expect(await schemaOf(older)).toEqual({ code: 200, ok: true, detail: 'the schema is this build’s' }),
  );

  const beside = await joined(await world.serve());
  const { lane } = (await beside.status()).lane;
  expect(await older.stop()).toBe(0);
  await untilShardsAt(world, [lane]);
  expect(await beside.kill9()).toBeUndefined();
  // Its lease has to be old before it is taken for gone.
  await eventually(async () => expect((await ended(await world.run(['migrate'], {}, newer.entry))).code).toBe(0), {
    deadlineMs: 120_000,
    everyMs: 1000,
  });
  const late = await ended((await world.serve()).process);
  expect([late.code, late.text]).toEqual([78, expect.stringContaining('migrated by a newer build; start that one')]);
}, 300_000);

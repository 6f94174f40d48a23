import { expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { nothingWrong, World } from '../support/runs/service-under-test.ts';
import { withStandby } from '../support/servers/with-standby.ts';

it('a managed failover under 200 changes a second: readiness and doctor say why, and nothing is lost or doubled', async () => {
  await using servers = await withStandby();
  const { description } = await runningSandbox({ market: { rate: 200, openOrders: 150, knownOrders: 200 } });
  const world = await World.create({ databaseUrl: servers.url, platform: platformSettings(description) });
  const service = await world.serve();
  const acknowledged = { topic: 'updates', result: 'acknowledged' };
  await service.waitLive();
  const before = await service.waitMetric('tidemark_publish_records_total', acknowledged, 300);

  await servers.demote();
  await expect
    .poll(
      async () => (await service.ready()).body.checks.find((check: { name: string }) => check.name === 'database'),
      {
        timeout: 30_000,
      },
    )
    .toMatchObject({ ok: false, detail: expect.stringContaining('read-only (default_transaction_read_only is on)') });
  expect((await service.ready()).code).toBe(503);
  const doctor = cliIo({ DATABASE_URL: servers.url });
  await runProgram(doctor, ['doctor']);
  expect(doctor.out()).toMatch(/takes no writes/);

  await servers.caughtUp();
  await servers.promote();
  servers.leadTo(servers.standbyUrl);
  await service.waitMetric('tidemark_publish_records_total', acknowledged, before + 400, 60_000);
  await service.waitLive();
  expect((await service.ready()).code).toBe(200);

  await control(description, '/rate', { rate: 0 });
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  expect(await world.query('select distinct generation from lanes')).toEqual([{ generation: 1 }]);
  expect(await service.stop()).toBe(0);
}, 240_000);

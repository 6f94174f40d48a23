import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { ReplayedRecording } from '../../src/cli/venue/replay-recording.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { platformVenue } from '../../src/venue/platform/platform-venue.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { nothingWrong, World } from '../support/runs/service-under-test.ts';

it('a recording of a service, played again, ends with every order as the database has it', async () => {
  const { description } = await runningSandbox({ market: { rate: 300, openOrders: 100, knownOrders: 150 } });
  const world = await World.create({ platform: platformSettings(description) });
  const home = mkdtempSync(join(tmpdir(), 'tidemark-recording-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const folder = join(home, 'rows');
  const service = await world.serve({ TIDEMARK_RECORD: folder });
  await service.waitLive();
  await control(description, '/faults', { stream: { duplicate: 0.2, reorder: 0.2, silent_loss: 0.05 } });
  await service.waitMetric('tidemark_publish_records_total', { topic: 'updates', result: 'acknowledged' }, 2_000);
  await control(description, '/faults', { stream: { duplicate: 0, reorder: 0, silent_loss: 0 } });
  await control(description, '/rate', { rate: 0 });
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  expect(await service.stop()).toBe(0);

  const files = readdirSync(folder).map((name) => join(folder, name));
  const io = cliIo();
  await runProgram(io, ['venue', 'replay', ...files]);
  expect([io.code(), io.err()], io.out()).toEqual([0, '']);
  const recording = new ReplayedRecording(platformVenue);
  const lines = files.flatMap((file) => readFileSync(file, 'utf8').trimEnd().split('\n'));
  for (const line of lines) recording.play(line);
  const stored = await world.query<{ key: string; state: unknown }>(
    `select stream || ':' || order_id as key, state from current_orders`,
  );
  expect(stored.length).toBeGreaterThan(300);
  const played = [...recording.heads].map(([key, { order }]) => [key, JSON.parse(JSON.stringify(order))]);
  expect(Object.fromEntries(played)).toEqual(Object.fromEntries(stored.map(({ key, state }) => [key, state])));
}, 240_000);

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { World } from '../support/runs/service-under-test.ts';
import { ensureProgram } from '../support/servers/debian-package.ts';

const run = promisify(execFile);

beforeAll(() => ensureProgram('kcat'), 300_000);

it('kcat reads the updates, and per order the revisions rise by one once repeats are dropped', async () => {
  const { description } = await runningSandbox({ market: { rate: 300, openOrders: 100, knownOrders: 150 } });
  const world = await World.create({ platform: platformSettings(description) });
  // Killed right after its first records, so that the next one repeats what
  // was acknowledged and not yet noted as such.
  for (let life = 0; life < 2; life += 1) {
    const service = await world.serve();
    await service.waitMetric('tidemark_publish_records_total', { topic: 'updates', result: 'acknowledged' }, 300);
    await service.kill9();
  }
  await control(description, '/rate', { rate: 0 });
  const last = await world.serve();
  await last.waitLive();
  await world.resolvedProof(description);

  const args = [
    '-b',
    world.brokers.join(),
    '-t',
    world.topics.updates,
    '-C',
    '-o',
    'beginning',
    '-e',
    '-q',
    '-f',
    '%k\t%s\n',
  ];
  const { stdout } = await run('kcat', args, { maxBuffer: 1024 ** 3, timeout: 60_000 });
  const newest = new Map<string, number>();
  for (const line of stdout.trimEnd().split('\n')) {
    const [key = '', value = ''] = line.split('\t');
    const { stream, orderId, revision, eventId } = JSON.parse(value);
    expect(key).toBe(`${stream}:${orderId}`);
    expect(eventId).toBe(`${key}:${revision}`);
    const before = newest.get(key) ?? 0;
    if (revision <= before) continue;
    expect(revision, `the revision of ${key} after ${before}`).toBe(before + 1);
    newest.set(key, revision);
  }
  const stored = await world.query<{ key: string; revision: number }>(
    `select stream || ':' || order_id as key, revision::int from orders`,
  );
  expect(newest).toEqual(new Map(stored.map(({ key, revision }) => [key, revision])));
}, 240_000);

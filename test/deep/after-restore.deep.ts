import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { comparePositions, type UpdatePosition, updatePosition } from '../../src/service/log/update-position.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';
import { readAll } from '../support/servers/kafka-fixture.ts';
import { onServer, withDatabase } from '../support/servers/on-server.ts';

/**
 * A consumer by the rule of docs/consuming.md: of each order the highest (generation, revision),
 * whatever comes in which order.
 */
async function consume(world: World, topic: string): Promise<Map<string, UpdatePosition & { readonly value: string }>> {
  const kept = new Map<string, UpdatePosition & { readonly value: string }>();
  for (const { key, value = '' } of await readAll(world.brokers, topic)) {
    const position = updatePosition(value);
    const known = kept.get(key);
    if (position !== undefined && (known === undefined || comparePositions(position, known) > 0))
      kept.set(key, { ...position, value });
  }
  return kept;
}

/** Revisions that the topic has under two contents: what the generation is for. */
async function revisionsTwice(world: World): Promise<number> {
  const contents = new Map<string, Set<string>>();
  for (const { key, value = '' } of await readAll(world.brokers, world.topics.updates)) {
    const name = `${key}/${updatePosition(value)?.revision}`;
    contents.set(name, (contents.get(name) ?? new Set()).add(value.slice(value.indexOf('"order":'))));
  }
  return [...contents.values()].filter(({ size }) => size > 1).length;
}

/** Puts `copy` in the place of the database, as a restore does. Nobody may be connected. */
async function restore(world: World, copy: string): Promise<void> {
  const name = new URL(world.databaseUrl).pathname.slice(1);
  await onServer(withDatabase(world.databaseUrl, 'postgres'), async (client) => {
    await client.query(`drop database ${name} with (force)`);
    await client.query(`alter database ${copy} rename to ${name}`);
  });
}

async function copyOf(world: World): Promise<string> {
  const name = new URL(world.databaseUrl).pathname.slice(1);
  const copy = `copy_${randomBytes(6).toString('hex')}`;
  await onServer(withDatabase(world.databaseUrl, 'postgres'), (client) =>
    client.query(`create database ${copy} template ${name}`),
  );
  onTestFinished(async () => {
    await onServer(withDatabase(world.databaseUrl, 'postgres'), (client) =>
      client.query(`drop database if exists ${copy}`),
    );
  });
  return copy;
}

async function workedFor(service: RunningService, updates: number): Promise<void> {
  await service.waitLive();
  await service.waitMetric('tidemark_publish_records_total', { topic: 'updates', result: 'acknowledged' }, updates);
}

it('consumers keep the right state over a restore of an older copy', async () => {
  const { description } = await runningSandbox({ market: { rate: 100, openOrders: 60, knownOrders: 80 } });
  const world = await World.create({ platform: platformSettings(description) });
  const run = async (...argv: string[]) => {
    const io = cliIo({
      DATABASE_URL: world.databaseUrl,
      KAFKA_BROKERS: world.brokers.join(','),
      TIDEMARK_TOPIC_PREFIX: world.topics.state.replace(/tidemark\.order-state\.v1$/, ''),
    });
    await runProgram(io, argv);
    return { code: io.code(), out: io.out(), err: io.err() };
  };

  const first = await world.serve();
  await workedFor(first, 300);
  expect(await first.stop()).toBe(0);
  const copy = await copyOf(world);
  const second = await world.serve();
  await workedFor(second, 600);
  expect(await second.stop()).toBe(0);
  await restore(world, copy);

  expect((await run('verify', '--wait', '0')).out, 'the loss is seen').toMatch(/^database: /);
  const restored = await run('after-restore', '--json');
  expect(JSON.parse(restored.out)).toEqual({ generation: 2, attempts: 0 });

  const third = await world.serve();
  await workedFor(third, 300);
  await control(description, '/rate', { rate: 0 });
  await eventually(
    async () => {
      const { findings } = JSON.parse((await run('verify', '--repair', '--json')).out);
      expect(findings).toEqual([]);
    },
    { deadlineMs: 120_000, everyMs: 1_000 },
  );

  const stored = await world.query<{ key: string; state: string }>(
    `select stream || ':' || order_id as key, state::text as state from current_orders`,
  );
  for (const topic of [world.topics.updates, world.topics.state]) {
    const kept = await consume(world, topic);
    const wrong = stored.filter(({ key, state }) => !kept.get(key)?.value.endsWith(`"order":${state}}`));
    expect(
      wrong.map(({ key }) => key),
      topic,
    ).toEqual([]);
    expect(kept.size, topic).toBe(stored.length);
  }
  expect(await revisionsTwice(world), 'revisions were given twice, so the generation was needed').toBeGreaterThan(0);
  expect((await third.status()).halts).toMatchObject([{ scope: 'service', cause: 'operator' }]);
  expect(await third.stop()).toBe(0);
}, 360_000);

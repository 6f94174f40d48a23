import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { type TopicNames, topicSpecs } from '../../src/service/log/topics.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';
import { deleteTopics, makeTopics, readAll, writeForeign } from '../support/servers/kafka-fixture.ts';
import { prefixOf } from '../support/servers/topics.ts';

const kinds = ['updates', 'state', 'watermarks', 'results', 'checkpoint'] as const satisfies (keyof TopicNames)[];

/** Waits until this process has the doubt, with such words, or until it has none. */
function untilDoubted(service: RunningService, words: RegExp | undefined): Promise<void> {
  return eventually(
    async () => {
      const { trust } = await service.status();
      const found = trust.doubts.find(({ name }: { name: string }) => name === 'topics_replaced');
      if (words === undefined) expect(found).toBeUndefined();
      else expect(found).toMatchObject({ detail: expect.stringMatching(words), runbook: 'TopicReplaced' });
    },
    { deadlineMs: 90_000, everyMs: 500 },
  );
}

function command(world: World, line: string): Promise<{ code: number; out: string; err: string }> {
  const [, ...args] = line.split(' ');
  const prefix = prefixOf(world.topics);
  const env = {
    DATABASE_URL: world.databaseUrl,
    KAFKA_BROKERS: world.brokers.join(','),
    TIDEMARK_TOPIC_PREFIX: prefix,
  };
  const io = cliIo(env);
  return runProgram(
    io,
    args.map((word) => word.replace(/^tidemark\./, `${prefix}tidemark.`)),
  ).then(() => ({ code: io.code(), out: io.out(), err: io.err() }));
}

/** The findings of doctor about published topics. */
async function doctor(world: World): Promise<{ verdict: string; detail: string; fix?: string }[]> {
  const { out } = await command(world, 'tidemark doctor --json');
  return JSON.parse(out).filter(({ part }: { part: string }) => part === 'published topics');
}

/** The lines of the runbook's one block of commands. */
function runbookLines(): string[] {
  const [, block = ''] = /```\n([^`]*)```/.exec(readFileSync('docs/runbooks/TopicReplaced.md', 'utf8')) ?? [];
  return block.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
}

async function newestOf(world: World, topic: string): Promise<Map<string, string | undefined>> {
  return new Map((await readAll(world.brokers, topic)).map(({ key, value }) => [key, value]));
}

it('every process doubts a topic that was deleted and made again, until the lines of its runbook were run', async () => {
  const { description } = await runningSandbox({ market: { rate: 20, openOrders: 20, knownOrders: 20 } });
  const world = await World.create({ platform: platformSettings(description) });
  const [one, two] = [await world.serve(), await world.serve()];
  await one.waitLive();
  // No look may find as many in the new topics: heartbeats begin anew within seconds.
  const many = Array.from({ length: 200 }, (_, i) => ({ key: `foreign:${i}`, value: '{}' }));
  for (const kind of ['watermarks', 'results', 'checkpoint'] as const)
    await writeForeign(world.brokers, world.topics[kind], many);
  await control(description, '/rate', { rate: 0 });
  const state = await eventually(async () => {
    const found = await newestOf(world, world.topics.state);
    expect(found.size).toBeGreaterThan(20);
    return found;
  });
  await eventually(
    async () =>
      expect(
        await world.query('select kind from published_topics where (select sum(e) from unnest(ends) e) > 20'),
      ).toHaveLength(kinds.length),
    { deadlineMs: 90_000, everyMs: 500 },
  );
  await untilDoubted(one, undefined);
  expect(await doctor(world)).toEqual([
    { part: 'published topics', verdict: 'ok', detail: 'the topics are those that were published to' },
  ]);

  await deleteTopics(
    world.brokers,
    kinds.map((kind) => world.topics[kind]),
  );
  await makeTopics(world.brokers, topicSpecs(world.topics));
  for (const service of [one, two])
    for (const kind of kinds)
      await untilDoubted(
        service,
        new RegExp(`${world.topics[kind]} was deleted and made again.* ended at \\d+ after it had ended at \\d+`),
      );
  expect(await one.waitMetric('tidemark_topics_replaced', {}, 5)).toBe(5);
  const named = await doctor(world);
  expect(named.map(({ verdict }) => verdict)).toEqual(kinds.map(() => 'fail'));
  expect(named.map(({ fix }) => fix)).toEqual([
    expect.stringContaining(`tidemark replay --to ${world.topics.updates} --force`),
    expect.stringContaining('tidemark verify --state-only --repair'),
    ...['watermarks', 'results', 'checkpoint'].map((kind) => expect.stringContaining(`tidemark topics accept ${kind}`)),
  ]);

  const lines = runbookLines();
  expect(lines).toHaveLength(kinds.length);
  for (const [at, line] of lines.entries()) {
    expect(await command(world, line), line).toMatchObject({ code: 0 });
    const left = kinds.slice(at + 1).map((kind) => expect.stringContaining(world.topics[kind]));
    if (left.length > 0) expect((await doctor(world)).map(({ detail }) => detail)).toEqual(left);
  }
  for (const service of [one, two]) await untilDoubted(service, undefined);
  const again = await newestOf(world, world.topics.state);
  expect([...state.keys()].filter((key) => !again.has(key))).toEqual([]);
  expect((await newestOf(world, world.topics.updates)).size).toBeGreaterThanOrEqual(state.size);

  // While no process runs; then one that is gone and was not made again;
  // then a partial replay, which ends nothing.
  await Promise.all([one.stop(), two.stop()]);
  await deleteTopics(world.brokers, [world.topics.updates, world.topics.results]);
  const three = await world.serve();
  await untilDoubted(three, /order-updates\.v1 is gone.*command-results\.v1 is gone/);
  await makeTopics(world.brokers, topicSpecs(world.topics));
  // Since the acceptance nothing was on the topic of results: nothing of it is lost.
  await untilDoubted(three, /^(?!.*command-results).*order-updates\.v1 was deleted and made again/);
  const seconds = await command(world, 'tidemark replay --to tidemark.order-updates.v1 --since 2026-11-20 --force');
  expect(seconds).toMatchObject({ code: 0 });
  expect(await doctor(world)).toHaveLength(1);
  expect(await command(world, 'tidemark topics accept updates results')).toMatchObject({ code: 0 });
  await untilDoubted(three, undefined);
  expect((await command(world, 'tidemark topics accept updates')).out).toMatch(/nothing to do/);
}, 600_000);

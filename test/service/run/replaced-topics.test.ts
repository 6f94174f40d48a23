import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { type FoundTopic, judgeTopicIds } from '../../../src/service/log/judge-topic-ids.ts';
import { ReplacedTopics } from '../../../src/service/run/replaced-topics.ts';
import type { PublishedTopic } from '../../../src/store/published-topics.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const topic = (kind: FoundTopic['kind'], id: FoundTopic['id'], name = `t.${kind}`): FoundTopic => ({ kind, name, id });
const published = (kind: string, topicId: string, name = `t.${kind}`): PublishedTopic => ({ kind, name, topicId });

it.each([
  ['the same id', [topic('state', 'A')], [published('state', 'A')], [], 0],
  ['another id', [topic('state', 'B')], [published('state', 'A')], [/t\.state was deleted and made again.*B.*A$/], 0],
  ['a topic that is gone', [topic('state', null)], [published('state', 'A')], [/t\.state is gone.*A$/], 0],
  [
    'another name',
    [topic('state', 'B', 'x.state')],
    [published('state', 'A')],
    [/x\.state \(id B\).*t\.state \(id A\)/],
    0,
  ],
  ['never seen', [topic('state', 'A')], [], [], 1],
  ['never there', [topic('state', null)], [], [], 0],
  ['a Kafka without ids', [topic('state', undefined)], [published('state', 'A')], [], 0],
])('%s', (_, found, kept, doubts, first) => {
  const judged = judgeTopicIds(found, kept);
  expect(judged.replaced.map(({ detail }) => detail)).toEqual(doubts.map((words) => expect.stringMatching(words)));
  expect(judged.first).toHaveLength(first);
});

it('keeps a doubt while Kafka or the database is away, and ends it when the topic was accepted', async () => {
  const clock = new VirtualClock();
  const world = { kept: [] as PublishedTopic[], found: [topic('updates', 'A')], away: false };
  const findTopics = async () => {
    if (world.away) throw new Error('no answer');
    return world.found;
  };
  const { process } = createMetrics();
  const watch = new ReplacedTopics({
    ...{ clock, log: silentLog, metrics: process, findTopics },
    published: { read: async () => world.kept, keepFirst: async (first) => void world.kept.push(...first) },
  });
  await watch.rounds.start();
  await clock.advance(30_000);
  expect([world.kept, watch.doubts.details]).toEqual([[published('updates', 'A')], []]);
  world.found = [topic('updates', 'B')];
  await clock.advance(30_000);
  const { sinceMs } = watch.doubts;
  expect([watch.doubts.details.length, sinceMs]).toEqual([1, expect.any(Number)]);
  expect(world.kept, 'never by itself').toEqual([published('updates', 'A')]);
  world.away = true;
  await clock.advance(90_000);
  expect(watch.doubts).toMatchObject({ details: [expect.any(String)], sinceMs });
  world.away = false;
  world.found = [topic('updates', undefined)];
  await clock.advance(30_000);
  expect(watch.doubts.details, 'no id is no other id').toEqual([]);
  world.found = [topic('updates', 'B')];
  world.kept = [published('updates', 'B')];
  await clock.advance(30_000);
  expect(watch.doubts).toEqual({ details: [], sinceMs: undefined });
  const drained = watch.rounds.drain();
  await clock.advance(1);
  await drained;
});

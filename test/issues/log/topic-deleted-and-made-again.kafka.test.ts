// What a user saw: A topic was deleted and made again without its records, and status said `trusted`.

import { expect, inject, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { foundTopics } from '../../../src/service/log/judge-topic-ids.ts';
import { readTopicIds } from '../../../src/service/log/kafkajs/read-topic-ids.ts';
import { applyTopics, checkTopics, planTopics } from '../../../src/service/log/plan-topics.ts';
import { topicSpecs } from '../../../src/service/log/topics.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { ReplacedTopics } from '../../../src/service/run/replaced-topics.ts';
import type { PublishedTopic } from '../../../src/store/published-topics.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';
import { deleteTopics, freshTopics, kafkaDeps, kafkaOptions } from '../../support/servers/kafka-fixture.ts';

/**
 * What was on the topic was gone, and status said trusted: a topic that is made again is as
 * planned. All ways through the whole service are in test/deep/topic-made-again.deep.ts.
 */
it('a topic that was deleted and made again is a doubt within half a minute, and so is one that is gone', async () => {
  const brokers = inject('kafkaBrokers');
  const options = kafkaOptions(brokers);
  const names = await freshTopics(brokers);
  const all = Object.values(names);
  await withAdmin(kafkaDeps, options, async (admin, client) => {
    const kept: PublishedTopic[] = [];
    const asked = { found: 0 };
    const findTopics = async () => {
      const found = foundTopics(names, await readTopicIds(client, all));
      asked.found += 1;
      return found;
    };
    const published = {
      read: async () => kept,
      keepFirst: async (first: readonly PublishedTopic[]) => void kept.push(...first),
    };
    const clock = new VirtualClock();
    const { process } = createMetrics();
    const watch = new ReplacedTopics({ clock, log: silentLog, metrics: process, findTopics, published });
    /** Until it has asked once more, and slept. */
    const look = async () => {
      const before = asked.found;
      await clock.advance(30_000);
      await eventually(() => expect(asked.found).toBeGreaterThan(before));
      await clock.advance(0);
      return watch.doubts.details;
    };
    await watch.rounds.start();
    await eventually(() => expect(kept).toHaveLength(5));
    expect(kept.map(({ topicId }) => topicId)).toEqual(kept.map(() => expect.stringMatching(/^[\w-]{22}$/)));
    expect(await look()).toEqual([]);

    await deleteTopics(brokers, [names.updates]);
    await eventually(async () => expect(await look()).toEqual([expect.stringMatching(/order-updates\.v1 is gone/)]));
    await applyTopics(admin, await planTopics(admin, topicSpecs(names)), kafkaDeps.clock);
    expect(await checkTopics(kafkaDeps, options, names), 'all is as planned').toEqual({ kind: 'planned' });
    await eventually(async () =>
      expect(await look()).toEqual([expect.stringMatching(/updates\.v1 was deleted and made again/)]),
    );
    expect((await process.topicsReplaced.get()).values[0]?.value).toBe(1);
    const drained = watch.rounds.drain();
    await clock.advance(1);
    await drained;
  });
});

it('asking for the id of a topic that is not there does not make it', async () => {
  const brokers = inject('kafkaBrokers');
  const names = await freshTopics(brokers);
  await withAdmin(kafkaDeps, kafkaOptions(brokers), async (admin, client) => {
    const absent = `${names.updates}.none`;
    expect(await readTopicIds(client, [absent, names.state])).toEqual(
      new Map([
        [absent, null],
        [names.state, expect.any(String)],
      ]),
    );
    expect(await admin.listTopics()).not.toContain(absent);
  });
});

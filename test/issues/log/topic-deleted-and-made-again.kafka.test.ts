// What a user saw: A topic was deleted and made again without its records, and status said `trusted`.

import { expect, inject, it } from 'vitest';
import { findTopics, judgeTopicEnds } from '../../../src/service/log/judge-topic-ends.ts';
import { checkTopics } from '../../../src/service/log/plan-topics.ts';
import { topicSpecs } from '../../../src/service/log/topics.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { eventually } from '../../support/runs/poll.ts';
import {
  deleteTopics,
  freshTopics,
  kafkaDeps,
  kafkaOptions,
  makeTopics,
  writeForeign,
} from '../../support/servers/kafka-fixture.ts';

/**
 * What was on the topic was gone, and status said trusted: a topic that is made again is as
 * planned. All ways through the whole service are in test/deep/topic-made-again.deep.ts.
 */
it('a topic that was deleted and made again ends below what was published, and one that is gone is named', async () => {
  const brokers = inject('kafkaBrokers');
  const options = kafkaOptions(brokers);
  const names = await freshTopics(brokers);
  const look = () => withAdmin(kafkaDeps, options, (admin) => findTopics(admin, names));
  const rows = Array.from({ length: 40 }, (_, i) => ({ key: `account:${i}`, value: '{}' }));
  await writeForeign(brokers, names.updates, rows);
  await writeForeign(brokers, names.state, rows);
  const { seen: published, replaced } = judgeTopicEnds(await look(), []);
  const total = (of: string) =>
    published.find(({ kind }) => kind === of)?.ends.reduce((sum, end) => sum + Number(end), 0);
  expect([replaced, total('updates'), total('state'), total('outcomes')]).toEqual([[], 40, 40, 0]);
  const doubts = async () => judgeTopicEnds(await look(), published).replaced.map(({ detail }) => detail);
  expect(await doubts()).toEqual([]);

  await deleteTopics(brokers, [names.updates, names.outcomes]);
  await eventually(async () => expect(await doubts()).toHaveLength(2));
  expect(await doubts()).toEqual([
    expect.stringMatching(/order-updates\.v1 is gone/),
    expect.stringMatching(/command-outcomes\.v1 is gone/),
  ]);
  await withAdmin(kafkaDeps, options, async (admin) => expect(await admin.listTopics()).not.toContain(names.updates));

  await makeTopics(brokers, topicSpecs(names));
  expect(await checkTopics(kafkaDeps, options, names), 'all is as planned').toEqual({ kind: 'planned' });
  await writeForeign(brokers, names.updates, rows.slice(0, 30));
  // Nothing was on the topic of outcomes, so nothing of it is lost.
  await eventually(async () =>
    expect(await doubts()).toEqual([expect.stringMatching(/order-updates\.v1 was deleted and made again.* ended at/)]),
  );
});

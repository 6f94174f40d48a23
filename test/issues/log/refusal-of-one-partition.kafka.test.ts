// What a user saw: While one partition took nothing, the others got the same records again and again.

import { expect, inject, it } from 'vitest';
import { topicSpecs } from '../../../src/service/log/topics.ts';
import { firstsByKey, freshTopics, logPublisher, numberedRows, readAll } from '../../support/servers/kafka-fixture.ts';

const brokers = inject('kafkaBrokers');

it('sends only what was refused again, and nothing before the refused row of its key', async () => {
  // The broker refuses a whole batch of a partition, and takes those of the others.
  const topics = await freshTopics(brokers, (names) =>
    topicSpecs(names).map((spec) => ({ ...spec, settings: { ...spec.settings, 'max.message.bytes': '100000' } })),
  );
  const { publisher } = logPublisher(brokers, topics);
  const rows = numberedRows(0, 2500);
  const odd = { ...rows[1200], payload: 'x'.repeat(200_000) };
  const withOdd = rows.map((row, at) => (at === 1200 ? odd : row)) as typeof rows;
  const refused = expect.objectContaining({ code: 'too_large' });
  for (let tries = 0; tries < 3; tries += 1) await expect(publisher.publish(withOdd)).rejects.toEqual(refused);
  const before = await readAll(brokers, topics.updates);
  expect(new Set(before.map(({ value }) => value)).size).toBe(before.length);
  // All before the refused row, and what its first piece had for other partitions.
  expect(before.length).toBeGreaterThan(1_800);
  expect(before.some(({ key }) => key === odd.key)).toBe(true);

  await publisher.publish(rows);
  await publisher.close();
  const records = await readAll(brokers, topics.updates);
  expect(records).toHaveLength(2500);
  for (const [, numbers] of firstsByKey(records)) expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
});

import { expect, inject, it } from 'vitest';
import { ConsumerGroups } from '../../../src/service/log/consumer-groups.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { freshTopics, kafkaDeps, kafkaOptions, writeForeign } from '../../support/servers/kafka-fixture.ts';

const brokers = inject('kafkaBrokers');

it('the lag of a group on a real broker is what it has not committed', async () => {
  const topics = await freshTopics(brokers);
  const groupId = `${topics.updates}.reader`;
  const messages = ['a', 'b', 'c', 'd', 'e'].map((value) => ({ key: 'account:one', value }));
  await writeForeign(brokers, topics.watermarks, messages);
  const partitions = [{ partition: 0, offset: '2' }];
  // A broker that has just begun makes its topic of offsets with the first
  // group, and has no coordinator until then.
  await eventually(
    () =>
      withAdmin(kafkaDeps, kafkaOptions(brokers), (admin) =>
        admin.setOffsets({ groupId, topic: topics.watermarks, partitions }),
      ),
    { deadlineMs: 60_000, everyMs: 200 },
  );
  const groups = new ConsumerGroups(kafkaDeps, { kafka: kafkaOptions(brokers), topics: Object.values(topics) });
  const result = await groups.read();
  expect(result).toMatchObject({
    kind: 'read',
    lag: {
      groups: [{ groupId, topics: [{ topic: topics.watermarks, lag: 3n, partitions: 1, uncommitted: 0 }] }],
      unread: [],
    },
  });
});

it('no group is shown where no broker answers, and nothing rejects', async () => {
  const groups = new ConsumerGroups(
    { ...kafkaDeps, log: silentLog },
    { kafka: kafkaOptions(['127.0.0.1:1']), topics: ['t'] },
  );
  expect(await groups.read()).toEqual({ kind: 'unavailable' });
});

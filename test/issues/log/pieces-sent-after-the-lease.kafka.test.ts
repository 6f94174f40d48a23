// What a user saw: A process that had been frozen went on publishing after another one had taken its lane.

import { expect, inject, it } from 'vitest';
import { freshTopics, logPublisher, numberedRows, readAll } from '../../support/servers/kafka-fixture.ts';

const brokers = inject('kafkaBrokers');

// Found by reading: what is too much for one send leaves in pieces, and the lease was asked for
// before the first one only. A process that was frozen between two of them went on sending, seconds
// after somebody else had taken the lane.
it('sends no further piece once the lease is too old', async () => {
  const topics = await freshTopics(brokers);
  const { publisher, replaced } = logPublisher(brokers, topics);
  let asked = 0;
  const mayAct = () => {
    asked += 1;
    return asked < 2;
  };
  await expect(publisher.publish(numberedRows(0, 3500), mayAct)).rejects.toMatchObject({
    name: 'PublishError',
    code: 'lease',
  });
  expect(await readAll(brokers, topics.updates)).toHaveLength(2000);
  await publisher.publish(numberedRows(2000, 1500), () => true);
  await publisher.close();
  expect(await readAll(brokers, topics.updates)).toHaveLength(3500);
  expect(await replaced()).toEqual({});
});

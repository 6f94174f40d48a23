// What a user saw: The memory of the service grew for as long as Kafka was away.

import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { freePort } from '../../../src/demo/devstack/free-port.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { FollowPosition, followTopic } from '../../../src/service/log/follow-topic.ts';
import { kafkaDefaults } from '../../../src/service/log/kafka-options.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

// Found by reading: each attempt to follow a topic listened to the signal that ends
// all of them. The canary makes one every few seconds for as long as Kafka is away,
// and none of the listeners was ever removed.
it('leaves no listener on its signal when the brokers cannot be reached', async () => {
  const over = new AbortController();
  const kafka = { ...kafkaDefaults, brokers: [`127.0.0.1:${await freePort()}`] };
  const nothing = () => undefined;
  const follower = {
    position: new FollowPosition(),
    give: async () => undefined,
    onProgress: nothing,
    onJump: nothing,
  };
  const options = { kafka, topic: 't', from: 'end', readCommitted: false } as const;
  const following = followTopic(
    { clock: systemClock, random: systemRandom, log: silentLog },
    options,
    follower,
    over.signal,
    0,
  );
  await expect(following).rejects.toThrow();
  expect(getEventListeners(over.signal, 'abort')).toEqual([]);
});

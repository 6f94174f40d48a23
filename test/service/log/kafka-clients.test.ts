import { getEventListeners } from 'node:events';
import kafkajs from 'kafkajs';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../../src/demo/devstack/free-port.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { FollowPosition, followTopic } from '../../../src/service/log/follow-topic.ts';
import { kafkaDefaults } from '../../../src/service/log/kafka-options.ts';
import { isWithoutLeader, readTopic } from '../../../src/service/log/read-topic.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

describe('issue: A broker that was away filled the log: each try wrote a line with a stack trace.', () => {
  it('a broker that is away is one line a minute, however often it is tried', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const stop = new AbortController();
    let waits = 0;
    const sleep = async () => {
      waits += 1;
      if (waits === 4) stop.abort();
    };
    const records = readTopic(
      { log, clock: { ...systemClock, sleep }, random: systemRandom },
      {
        kafka: { ...kafkaDefaults, brokers: ['127.0.0.1:1'] },
        topic: 'none',
        from: 'end',
        readCommitted: true,
        signal: stop.signal,
      },
    );
    expect((await records.next()).done).toBe(true);
    const said = lines
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'reading a topic failed; connecting again');
    expect(said).toMatchObject([{ level: 40, topic: 'none', failures: 1 }]);
  });
});

describe('issue: The memory of the service grew for as long as Kafka was away.', () => {
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
});

describe('issue: Readers of a new Kafka logged a warning although it was only still starting.', () => {
  const { KafkaJSError, KafkaJSProtocolError } = kafkajs;

  it('a coordinator of a new Kafka that still reads its topic is as normal as one that is not there yet', () => {
    const answer = (code: number) => new KafkaJSProtocolError(Object.assign(new Error('from Kafka'), { code }));
    expect([14, 15, 16].map((code) => isWithoutLeader(answer(code)))).toEqual([true, true, true]);
    expect(isWithoutLeader(Object.assign(new Error('none'), { name: 'KafkaJSGroupCoordinatorNotFound' }))).toBe(true);
    expect(isWithoutLeader(answer(29))).toBe(false);
    expect(isWithoutLeader(new KafkaJSError('Closed connection'))).toBe(false);
  });
});

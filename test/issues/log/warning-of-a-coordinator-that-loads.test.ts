// What a user saw: Readers of a new Kafka logged a warning although it was only still starting.

import kafkajs from 'kafkajs';
import { expect, it } from 'vitest';
import { isWithoutLeader } from '../../../src/service/log/read-topic.ts';

const { KafkaJSError, KafkaJSProtocolError } = kafkajs;

it('a coordinator of a new Kafka that still reads its topic is as normal as one that is not there yet', () => {
  const answer = (code: number) => new KafkaJSProtocolError(Object.assign(new Error('from Kafka'), { code }));
  expect([14, 15, 16].map((code) => isWithoutLeader(answer(code)))).toEqual([true, true, true]);
  expect(isWithoutLeader(Object.assign(new Error('none'), { name: 'KafkaJSGroupCoordinatorNotFound' }))).toBe(true);
  expect(isWithoutLeader(answer(29))).toBe(false);
  expect(isWithoutLeader(new KafkaJSError('Closed connection'))).toBe(false);
});

import { expect, it } from 'vitest';
import type { ConsumerLag } from '../../../src/service/log/consumer-groups.ts';
import { ConsumerGroups } from '../../../src/service/log/consumer-groups.ts';
import { kafkaDefaults } from '../../../src/service/log/kafka-options.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const lag: ConsumerLag = { groups: [], unread: [], notAsked: 0 };

function groupsOver(answer: () => Promise<ConsumerLag>) {
  const clock = new VirtualClock();
  let asked = 0;
  const read = () => {
    asked += 1;
    return answer();
  };
  const options = { kafka: { ...kafkaDefaults, brokers: ['127.0.0.1:1'] }, topics: ['t'] };
  const groups = new ConsumerGroups({ clock, log: silentLog, read }, options);
  return { clock, groups, asked: () => asked };
}

it('asks Kafka once for all callers, and not again for 5 s', async () => {
  const { clock, groups, asked } = groupsOver(async () => lag);
  const atMs = clock.nowMs();
  expect(await Promise.all([groups.read(), groups.read()])).toEqual([1, 2].map(() => ({ kind: 'read', atMs, lag })));
  await clock.advance(4_999);
  await groups.read();
  expect(asked()).toBe(1);
  await clock.advance(1);
  await groups.read();
  expect(asked()).toBe(2);
});

it('keeps a failure for 5 s as well', async () => {
  const { clock, groups, asked } = groupsOver(() => Promise.reject(new Error('no broker')));
  expect(await groups.read()).toEqual({ kind: 'unavailable' });
  await groups.read();
  expect(asked()).toBe(1);
  await clock.advance(5_000);
  await groups.read();
  expect(asked()).toBe(2);
});

it('lets no caller wait for more than 8 s, and asks no second time while Kafka is silent', async () => {
  let answer = (_lag: ConsumerLag) => {};
  const { clock, groups, asked } = groupsOver(
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  const first = groups.read();
  await clock.advance(8_000);
  expect(await first).toEqual({ kind: 'unavailable' });
  const second = groups.read();
  answer(lag);
  expect(await second).toMatchObject({ kind: 'read' });
  expect(asked()).toBe(1);
});

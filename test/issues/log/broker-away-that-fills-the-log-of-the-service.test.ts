// What a user saw: A broker that was away filled the log: each try wrote a line with a stack trace.

import { pino } from 'pino';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { kafkaDefaults } from '../../../src/service/log/kafka-options.ts';
import { readTopic } from '../../../src/service/log/read-topic.ts';

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

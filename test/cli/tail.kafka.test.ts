import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { kafkaDefaults } from '../../src/service/log/kafka-options.ts';
import { LogPublisher, logPublisherDefaults } from '../../src/service/log/log-publisher.ts';
import { topicNames } from '../../src/service/log/topics.ts';
import { sampleUpdate } from '../support/orders/sample-update.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { kafkaDeps } from '../support/servers/kafka-fixture.ts';
import { topicPrefix } from '../support/servers/topics.ts';

const prefix = topicPrefix();
const env = { KAFKA_BROKERS: inject('kafkaBrokers').join(','), TIDEMARK_TOPIC_PREFIX: prefix };

/** Starts a command; `done` resolves when it has ended. */
function start(argv: string[], settings: Record<string, string> = env) {
  const io = cliIo(settings);
  return { io, done: runProgram(io, argv) };
}

async function run(argv: string[], settings: Record<string, string> = env) {
  const { io, done } = start(argv, settings);
  await done;
  return { code: io.code(), out: io.out(), err: io.err() };
}

const payloads = [
  sampleUpdate({ orderId: 'o-1', accountId: 'A-1', revision: 1 }),
  sampleUpdate({ orderId: 'o-2', accountId: 'A-2', revision: 1 }),
  sampleUpdate({ orderId: 'o-1', accountId: 'A-1', revision: 2 }),
  sampleUpdate({ orderId: 'o-1', accountId: 'A-1', revision: 1 }),
  sampleUpdate({ orderId: 'o-1', accountId: 'A-1', revision: 3 }),
];

let publisher: LogPublisher;

async function publish(values: readonly string[]): Promise<void> {
  await publisher.publish(
    values.map((payload) => ({ topic: 'updates', key: `account:${JSON.parse(payload).orderId}`, payload })),
  );
}

beforeAll(async () => {
  const made = await run(['topics', 'apply']);
  expect(made).toMatchObject({ code: 0, err: '' });
  const kafka = { ...kafkaDefaults, brokers: inject('kafkaBrokers') };
  publisher = new LogPublisher(
    { ...kafkaDeps, metrics: createMetrics().relay },
    { ...logPublisherDefaults, kafka, topics: topicNames(prefix) },
  );
  await publish(payloads);
});

afterAll(() => publisher.close());

describe('topics', () => {
  it('plan finds nothing left to do after apply', async () => {
    expect(await run(['topics', 'plan', '--check'])).toEqual({
      code: 0,
      out: 'The topics are as planned; nothing to do.\n',
      err: '',
    });
  });

  it('plan --check ends with 1 while topics are missing, and changes nothing', async () => {
    const missing = { ...env, TIDEMARK_TOPIC_PREFIX: topicPrefix() };
    const first = await run(['topics', 'plan', '--check'], missing);
    expect(first.code).toBe(1);
    expect(first.out).toMatch(/^would make \S+tidemark\.order-updates\.v1: 12 partitions, 1 replica$/m);
    expect(await run(['topics', 'plan', '--check'], missing)).toEqual(first);
  });

  it('plan --json is the plan', async () => {
    expect(JSON.parse((await run(['topics', 'plan', '--json'])).out)).toEqual({
      creations: [],
      alterations: [],
      faults: [],
      notes: [],
      unread: [],
    });
  });

  it('says that Kafka does not answer, and ends with 69', async () => {
    const { code, err } = await run(['topics', 'plan'], { KAFKA_BROKERS: '127.0.0.1:1' });
    expect(code).toBe(69);
    expect(err).toMatch(/^tidemark: Kafka does not answer as it should: connection refused.*\n {2}Check KAFKA_BROKERS/);
  });
});

describe('tail', () => {
  const waiting = 'tidemark: no such update yet; waiting for one\n';

  it('prints what is on the topic, without repeats, as the very bytes with --json', async () => {
    const { code, out } = await run(['tail', '--from-beginning', '--json', '--order', 'o-1', '--count', '3']);
    expect(code).toBe(0);
    expect(out).toBe(`${payloads[0]}\n${payloads[2]}\n${payloads[4]}\n`);
  });

  it('prints one account and one symbol only, in any case, a line for people each', async () => {
    const { out } = await run(['tail', '--from-beginning', '--account', 'A-2', '--symbol', 'aapl', '--count', '1']);
    expect(out).toMatch(/^14:30:01\.250 {2}A-2 {2}account:o-2 {2}r1 .*buy {2}40\/100 AAPL.*\n$/);
  });

  it('prints short lines in a terminal that is too narrow for whole ones, unless --wide asks for them', async () => {
    const lineAt = async (columns: number, ...flags: string[]) => {
      const io = Object.assign(cliIo(env), { columns });
      await runProgram(io, ['tail', '--from-beginning', '--account', 'A-2', '--count', '1', ...flags]);
      return io.out();
    };
    expect(await lineAt(149)).toMatch(/^14:30:01 A-2 {6}o-2 r1 .*buy {2}40\/100 AAPL.*\n$/);
    expect(await lineAt(150)).toMatch(/^14:30:01\.250 {2}A-2 {2}account:o-2 /);
    expect(await lineAt(80, '--wide')).toMatch(/^14:30:01\.250 {2}A-2 {2}account:o-2 /);
  });

  it('follows what comes, and ends without fault when it is interrupted', async () => {
    const { io, done } = start(['tail', '--json', '--order', 'account:o-9']);
    let revision = 0;
    await eventually(async () => {
      revision += 1;
      await publish([sampleUpdate({ orderId: 'o-9', revision })]);
      expect(io.out()).not.toBe('');
    });
    io.signal('SIGINT');
    await done;
    expect([io.code(), io.err().replace(waiting, '')]).toEqual([0, '']);
  });

  it('says once that it waits, while nothing that matches comes', async () => {
    const { io, done } = start(['tail', '--from-beginning', '--json', '--order', 'o-late', '--count', '2']);
    await eventually(() => expect(io.err()).toContain(waiting));
    await publish([1, 2].map((revision) => sampleUpdate({ orderId: 'o-late', revision })));
    await done;
    expect([io.code(), io.err().split(waiting).length, io.out().match(/\n/g)?.length]).toEqual([0, 2, 2]);
  });

  it('names the command that makes the topic when it is missing', async () => {
    const { code, err } = await run(['tail'], { ...env, TIDEMARK_TOPIC_PREFIX: topicPrefix() });
    expect(code).toBe(69);
    expect(err).toMatch(
      /^tidemark: the topic \S+tidemark\.order-updates\.v1 does not exist\n {2}Run `tidemark topics apply`/,
    );
  });

  it('says that Kafka does not answer', async () => {
    const { code, err } = await run(['tail'], { KAFKA_BROKERS: '127.0.0.1:1' });
    expect(code).toBe(69);
    expect(err).toMatch(/^tidemark: Kafka does not answer: connection refused/);
  });

  it('refuses a stream and a count that make no sense', async () => {
    expect((await run(['tail', '--stream', 'both'])).code).toBe(64);
    expect((await run(['tail', '--count', '0'])).code).toBe(64);
  });
});

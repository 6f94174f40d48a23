import { expect, inject, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { withAdmin } from '../../src/service/log/with-admin.ts';
import { PostgresUpdateLog } from '../../src/store/orders/update-log.ts';
import { batch, head, storeRig, update } from '../support/orders/store-rig.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { freshTopics, kafkaDeps, kafkaOptions, readAll } from '../support/servers/kafka-fixture.ts';

const orders = ['a', 'b', 'c'];

/** A log of three orders with four revisions each, and a topic to write to. */
async function logAndTopic() {
  const rig = await storeRig();
  const brokers = inject('kafkaBrokers');
  const topics = await freshTopics(brokers);
  const prefix = topics.updates.replace(/tidemark\.order-updates\.v1$/, '');
  const target = `${prefix}replayed`;
  await withAdmin(kafkaDeps, kafkaOptions(brokers), async (admin) => {
    await admin.createTopics({ topics: [{ topic: target, numPartitions: 3 }], waitForLeaders: false });
    // kafkajs's own wait gives up at once when the broker has not heard of the topic yet.
    await eventually(() => admin.fetchTopicOffsets(target));
  });
  for (const revision of [1, 2, 3, 4]) {
    const heads = orders.map((id) => head(id, revision));
    const mark = update('mark', revision, { stream: 'watermarks', orderId: `mark-${revision}`, revision: 1 });
    const updates = [...orders.map((id) => update(id, revision)), mark];
    expect((await rig.store.applyBatch(batch(rig.epoch, revision, [], { heads, updates }))).kind).toBe('committed');
  }
  const start = (isTerminal: boolean, ...flags: string[]) => {
    const env = { DATABASE_URL: rig.database.url, KAFKA_BROKERS: brokers.join(','), TIDEMARK_TOPIC_PREFIX: prefix };
    const io = { ...cliIo(env), isTerminal };
    return { io, done: runProgram(io, ['replay', ...flags]) };
  };
  const run = async (...flags: string[]) => {
    const { io, done } = start(false, ...flags);
    await done;
    return { code: io.code(), out: io.out(), err: io.err() };
  };
  /** What is on the topic, by order. */
  const written = async (topic = target) => {
    const byKey = new Map<string, (string | undefined)[]>();
    for (const { key, value } of await readAll(brokers, topic)) byKey.set(key, [...(byKey.get(key) ?? []), value]);
    return Object.fromEntries([...byKey].sort());
  };
  return Object.assign(rig, { run, start, written, target, topics });
}

const revisions = (id: string, ...of: number[]) => of.map((revision) => `{"order":"${id}/${revision}"}`);

it('writes the whole log, byte for byte and in its order, without marks of watermarks', async () => {
  await using log = await logAndTopic();
  expect(await log.run('--to', log.target)).toEqual({
    code: 0,
    out: `12 updates written to ${log.target}.\n`,
    err: '',
  });
  expect(await log.written()).toEqual(
    Object.fromEntries(orders.map((id) => [`prediction:${id}`, revisions(id, 1, 2, 3, 4)])),
  );
});

it('writes from a number, from an instant, or of one order', async () => {
  await using log = await logAndTopic();
  expect(
    JSON.parse((await log.run('--to', log.target, '--order', 'prediction:b', '--from-seq', '5', '--json')).out),
  ).toEqual({
    sent: 3,
    reachedSeq: '16',
    complete: true,
  });
  expect(await log.written()).toEqual({ 'prediction:b': revisions('b', 2, 3, 4) });
  await log.pool.query("update order_updates set recorded_at = '2026-11-20T10:00:00Z' where seq <= 12");
  expect((await log.run('--to', log.target, '--since', '2026-11-20T10:00:01Z')).out).toMatch(/^3 updates/);
  expect((await log.run('--to', log.target, '--since', '2026-11-20T10:00:00Z')).out).toMatch(/^12 updates/);
});

it('keeps to its rate, shows on a terminal how far it is, and says from where to go on when it is interrupted', async () => {
  await using log = await logAndTopic();
  const startedMs = systemClock.monotonicMs();
  const { io, done } = log.start(true, '--to', log.target, '--rate', '10');
  await done;
  // The last of twelve may leave once eleven have had their tenth of a second. A bound from below:
  // no machine is too slow for it.
  expect(systemClock.monotonicMs() - startedMs).toBeGreaterThan(1_000);
  expect(io.err().endsWith(`\r[${'#'.repeat(30)}] 100 %  12 updates, seq 16\u001b[K\n`)).toBe(true);

  const slow = log.start(false, '--to', log.target, '--rate', '1');
  await eventually(async () => expect(Object.values(await log.written()).flat().length).toBeGreaterThan(12));
  slow.io.signal('SIGINT');
  await slow.done;
  expect(slow.io.code()).toBe(1);
  const [, sent, seq] = /^(\d+) updates? written to .*; go on with --from-seq (\d+)\.\n$/.exec(slow.io.out()) ?? [];
  const rest = JSON.parse((await log.run('--to', log.target, '--from-seq', seq ?? '', '--json')).out);
  expect(rest.sent + Number(sent)).toBe(12);
});

it('never writes onto a live topic, but onto that of updates when forced', async () => {
  await using log = await logAndTopic();
  for (const topic of Object.values(log.topics))
    expect(await log.run('--to', topic)).toMatchObject({ code: 64, err: expect.stringMatching(/is a live topic\n/) });
  for (const topic of [log.topics.state, log.topics.watermarks, log.topics.results])
    expect((await log.run('--to', topic, '--force')).code).toBe(64);
  const published = new PostgresUpdateLog(log.deps);
  // Two batches of three updates and a mark: the relay sends the rest.
  await published.savePosition(0, log.epoch, 'log', 8n);
  expect((await log.run('--to', log.topics.updates, '--force')).code).toBe(0);
  const half = Object.values(await log.written(log.topics.updates)).flat();
  expect(half.sort()).toEqual(orders.flatMap((id) => revisions(id, 1, 2)).sort());
  await published.savePosition(0, log.epoch, 'log', 16n);
  expect((await log.run('--to', log.topics.updates, '--force')).code).toBe(0);
  expect(Object.values(await log.written(log.topics.updates)).flat()).toHaveLength(6 + 12);
});

it('says that the topic is missing, and refuses what makes no sense', async () => {
  await using log = await logAndTopic();
  expect(await log.run('--to', `${log.target}.none`)).toMatchObject({
    code: 69,
    err: expect.stringMatching(/does not exist\n/),
  });
  for (const wrong of [
    ['--rate', '0'],
    ['--order', 'b'],
    ['--since', 'yesterday'],
    ['--from-seq', '-1'],
  ])
    expect((await log.run('--to', log.target, ...wrong)).code).toBe(64);
});

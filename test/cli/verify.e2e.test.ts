import { describe, expect, inject, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { PostgresUpdateLog } from '../../src/store/orders/update-log.ts';
import { sampleUpdate } from '../support/orders/sample-update.ts';
import { batch, head, storeRig, update } from '../support/orders/store-rig.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { freshTopics, logPublisher, readAll, writeForeign } from '../support/servers/kafka-fixture.ts';
import { onServer } from '../support/servers/on-server.ts';
import { withStandby } from '../support/servers/with-standby.ts';

const orders = ['a', 'b', 'c'];
const payload = (orderId: string, revision: number) => sampleUpdate({ orderId, revision });
const stateOf = (orderId: string, revision: number) => JSON.stringify(JSON.parse(payload(orderId, revision)).order);

/**
 * Three orders at revision 2 in a database, everything of them on the
 * topics as `lost` leaves it, and acknowledged.
 */
async function installation(lost: { updates?: string; state?: string } = {}) {
  const rig = await storeRig();
  const brokers = inject('kafkaBrokers');
  const topics = await freshTopics(brokers);
  const log = new PostgresUpdateLog(rig.deps);
  for (const revision of [1, 2]) {
    const heads = orders.map((id) =>
      head(id, revision, { stream: 'account', sourceVersion: null, state: stateOf(id, revision) }),
    );
    const updates = orders.map((id) => update(id, revision, { stream: 'account', payload: payload(id, revision) }));
    expect((await rig.store.applyBatch(batch(rig.epoch, revision, [], { heads, updates }))).kind).toBe('committed');
  }
  for (const cursor of ['log', 'state'] as const) await log.savePosition(0, rig.epoch, cursor, 6n);
  const write = async (topic: string, rows: readonly (readonly [string, number])[]) => {
    const { publisher } = logPublisher(brokers, { updates: topic });
    await publisher.publish(
      rows.map(([id, revision]) => ({ topic: 'updates', key: `account:${id}`, payload: payload(id, revision) })),
    );
    await publisher.close();
  };
  const all = orders.flatMap((id): [string, number][] => [
    [id, 1],
    [id, 2],
  ]);
  await write(
    topics.updates,
    all.filter(([id, revision]) => lost.updates !== `${id}/${revision}`),
  );
  await write(
    topics.state,
    orders.map((id): [string, number] => [id, lost.state === id ? 1 : 2]),
  );
  const env = {
    DATABASE_URL: rig.database.url,
    KAFKA_BROKERS: brokers.join(','),
    TIDEMARK_TOPIC_PREFIX: topics.updates.replace(/tidemark\.order-updates\.v1$/, ''),
  };
  const audit = async (...flags: string[]) => {
    const io = cliIo(env);
    await runProgram(io, ['verify', '--wait', '1', ...flags]);
    return { code: io.code(), out: io.out(), err: io.err() };
  };
  /** On a terminal, and not yet ended. */
  const start = (...flags: string[]) => {
    const io = { ...cliIo(env), isTerminal: true };
    return { io, done: runProgram(io, ['verify', ...flags]) };
  };
  return Object.assign(rig, { audit, start, topics, brokers, write, env });
}

it('finds nothing where everything is everywhere', async () => {
  await using world = await installation();
  expect(await world.audit()).toMatchObject({ code: 0, out: '3 orders and 9 records compared: nothing is missing.\n' });
});

it('says what is a dead letter, and does not call that complete', async () => {
  await using world = await installation();
  const wait = (order: string) =>
    world.pool.query(
      `insert into dead_letters (lane, batch, stream, account_id, order_id, reason, detail, raw, observed_at)
       values (0, 1, 'account', 'acct-1', ${order}, 'bad_decimal', 'd', '{}', now())`,
    );
  for (const order of ["'b'", "'b'", 'null']) await wait(order);
  const { code, out } = await world.audit();
  expect(code).toBe(1);
  expect(out).toMatch(
    /^dead letters: 3 rows of the platform .* they name 1 order: .*\n3 orders .*: nothing else is missing\.\n$/,
  );
  expect(JSON.parse((await world.audit('--json')).out).deadLetters).toEqual({ rows: 3, orders: 1 });
  await world.pool.query('update dead_letters set dealt_at = now()');
  expect(await world.audit()).toMatchObject({ code: 0, out: expect.stringContaining('compared: nothing is missing.') });
});

it('names the topic of updates for what was acknowledged and is not there, in the middle or at the end', async () => {
  await using world = await installation({ updates: 'b/2' });
  const { code, out } = await world.audit();
  expect(code).toBe(1);
  expect(out).toMatch(
    /^updates: .*\n {2}account:b {2}revision 2 is not on the topic of updates, which ends at revision 1\n/,
  );
  expect((await world.audit('--state-only')).code).toBe(0);
});

it('names the relay for what waits for it', async () => {
  await using world = await installation({ updates: 'b/2' });
  await world.pool.query("update relay_positions set seq = 4 where cursor = 'log'");
  expect((await world.audit()).out).toMatch(
    /^relay: .*\n {2}account:b {2}revision 2 waits for the topic of updates\n3 orders/,
  );
});

it('shows on a terminal how far each step is', async () => {
  await using world = await installation();
  const { io, done } = world.start('--wait', '0');
  await done;
  const full = `\r[${'#'.repeat(30)}] 100 %`;
  expect(io.err()).toBe(
    [
      `reading the orders and the log …\n${full}  3 orders\u001b[K\n`,
      'waiting for records under way …\n',
      `reading ${world.topics.state} …\n${full}  3 records\u001b[K\n`,
      `reading ${world.topics.updates} …\n${full}  6 records\u001b[K\n`,
    ].join(''),
  );
});

it('ends in order when it is interrupted, and says that nothing is known', async () => {
  await using world = await installation();
  await world.pool.query("update relay_positions set seq = 4 where cursor = 'log'");
  const { io, done } = world.start('--wait', '600');
  await eventually(() => expect(io.err()).toContain('waiting for records under way'));
  io.signal('SIGINT');
  await done;
  expect([io.code(), io.out()]).toEqual([75, '']);
  expect(io.err()).toMatch(/tidemark: it was interrupted before it had seen everything\n {2}Run it again: /);
});

it('names the database where Kafka knows more, also of an order that it does not have', async () => {
  await using world = await installation();
  await world.write(world.topics.state, [
    ['a', 3],
    ['z', 1],
  ]);
  const { findings } = JSON.parse((await world.audit('--json')).out);
  expect(findings).toEqual([
    { hop: 'database', key: 'account:a', detail: 'Kafka has revision 3 of generation 1, the database revision 2' },
    { hop: 'database', key: 'account:z', detail: 'Kafka has revision 1, the database does not know the order' },
  ]);
});

it('finds tombstones and foreign records, writes the states again that they replaced, and names the others', async () => {
  await using world = await installation();
  await writeForeign(world.brokers, world.topics.state, [
    { key: 'account:a', value: null },
    { key: 'account:b', value: '{"hello":"world"}' },
    { key: 'somebody-elses', value: 'x' },
    { key: 'taken-away', value: 'x' },
    { key: 'taken-away', value: null },
  ]);
  await writeForeign(world.brokers, world.topics.updates, [{ key: 'account:c', value: null }]);
  const { code, out } = await world.audit('--repair', '--json');
  const { findings, repaired } = JSON.parse(out) as {
    findings: { hop: string; key: string; detail: string }[];
    repaired: number;
  };
  expect(findings).toMatchObject([
    {
      hop: 'state',
      key: 'account:a',
      detail: expect.stringMatching(/^revision 2 is not on the state topic: a tombstone deletes it \(/),
    },
    {
      hop: 'state',
      key: 'account:b',
      detail: expect.stringMatching(/: a record that is not an update is in its place \(/),
    },
    {
      hop: 'foreign',
      key: 'somebody-elses',
      detail: expect.stringMatching(/^a record that is not an update on .*order-state.v1, partition/),
    },
    {
      hop: 'foreign',
      key: 'account:c',
      detail: expect.stringMatching(/^a tombstone on .*order-updates.v1, partition \d+, offset \d+$/),
    },
  ]);
  expect([code, repaired]).toEqual([1, 2]);
  // What was written again stands behind the stray; the others stay.
  const again = await eventually(async () => {
    const { findings: left } = JSON.parse((await world.audit('--json')).out) as { findings: { hop: string }[] };
    expect(left).toHaveLength(2);
    return left;
  });
  expect(again.map(({ hop }) => hop)).toEqual(['foreign', 'foreign']);
});

it('names the log where a person deleted from it', async () => {
  await using world = await installation();
  await world.pool.query("delete from order_updates where order_id = 'c' and revision = 2");
  expect((await world.audit()).out).toMatch(
    /^log: .*\n {2}account:c {2}its newest row, which has its state, is not in the log\n/,
  );
});

it('writes the newest state where the state topic lacks it, and only there', async () => {
  await using world = await installation({ state: 'c' });
  expect((await world.audit()).out).toMatch(
    /^state: .*\n {2}account:c {2}revision 2 is not on the state topic, which ends at revision 1\n/,
  );
  // A server that takes no writes may lag behind the topic.
  const database = (await world.pool.query('select current_database() as name')).rows[0].name;
  await world.pool.query(`alter database "${database}" set default_transaction_read_only = on`);
  expect((await world.audit('--repair')).code).not.toBe(0);
  expect(await readAll(world.brokers, world.topics.state)).toHaveLength(3);
  await world.pool.query(`alter database "${database}" reset default_transaction_read_only`);
  const repaired = await world.audit('--repair');
  expect(repaired).toMatchObject({ code: 0, out: expect.stringMatching(/\nWrote the newest state of 1 order\.\n/) });
  // Readers of committed records see it a moment after the commit was acknowledged.
  const records = await eventually(async () => {
    const all = await readAll(world.brokers, world.topics.state);
    expect(all).toHaveLength(4);
    return all;
  });
  expect(records.filter(({ key }) => key === 'account:c').map(({ value }) => value)).toEqual([
    payload('c', 1),
    payload('c', 2),
  ]);
  expect((await world.audit()).code).toBe(0);
});

it('writes a state whose rows retention has taken from the stored order', async () => {
  await using world = await installation({ state: 'c' });
  await world.pool.query(
    "update orders o set state = c.state from current_orders c where c.order_id = 'c' and o.order_id = 'c'",
  );
  await world.pool.query("delete from order_updates where order_id = 'c'");
  expect((await world.audit('--repair')).code).toBe(0);
  await eventually(async () => {
    const last = (await readAll(world.brokers, world.topics.state)).filter(({ key }) => key === 'account:c').at(-1);
    expect(JSON.parse(last?.value ?? '{}')).toMatchObject({
      eventId: 'account:c:2',
      revision: 2,
      generation: 1,
      cause: 'snapshot',
      changed: [],
    });
  });
});

it('says that Kafka does not answer', async () => {
  await using world = await installation();
  const io = cliIo({ ...world.env, KAFKA_BROKERS: '127.0.0.1:1' });
  await runProgram(io, ['verify', '--wait', '0']);
  expect(io.code()).not.toBe(0);
  expect(io.err()).toMatch(/tidemark: /);
});

describe('issue: `tidemark verify` at a standby that was behind said that the database lost commits.', () => {
  it('a standby without a commit that Kafka has is named as a standby; the primary without it lost it', async () => {
    await using servers = await withStandby();
    await onServer(servers.primaryUrl, (client) => client.query('create table of_this_test ()'));
    await servers.caughtUp();
    const brokers = inject('kafkaBrokers');
    const topics = await freshTopics(brokers);
    const { publisher } = logPublisher(brokers, { updates: topics.state });
    await publisher.publish([{ topic: 'updates', key: 'account:o-1', payload: sampleUpdate({ orderId: 'o-1' }) }]);
    await publisher.close();
    const audit = async (url: string, ...flags: string[]) => {
      const io = cliIo({
        DATABASE_URL: url,
        KAFKA_BROKERS: brokers.join(','),
        TIDEMARK_TOPIC_PREFIX: topics.updates.replace(/tidemark\.order-updates\.v1$/, ''),
      });
      await runProgram(io, ['verify', '--state-only', '--wait', '1', ...flags]);
      return { code: io.code(), out: io.out() };
    };
    const standby = await audit(servers.standbyUrl);
    expect(standby).toMatchObject({ code: 75, out: expect.stringContaining('This server is a standby.') });
    expect(standby.out).not.toContain('lost commits');
    expect(JSON.parse((await audit(servers.standbyUrl, '--json')).out)).toMatchObject({
      standby: { replayedAt: expect.stringMatching(/Z$/) },
      findings: [{ hop: 'standby', key: 'account:o-1' }],
    });
    expect(await audit(servers.primaryUrl)).toMatchObject({ code: 1, out: expect.stringContaining('lost commits') });
  });
});

/**
 * A whole consumer of Tidemark's topics: starts from nothing by the state topic, then takes each accepted change exactly once, over restarts, kills and
 * repeats. What it keeps is one SQLite file; put your own effects into the transaction of `takeAll`, and they happen once as well. Records that came together are
 * taken together: a commit waits for the disk, whatever it holds.
 *
 *   npm install kafkajs && KAFKA_BROKERS=127.0.0.1:9092 node consumer.ts      # Node 24
 *
 * docs/consuming.md gives the reasons for each step. `tidemark/records` has types only; without the package, leave the import and its use out.
 */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { type Admin, Kafka, logLevel } from 'kafkajs';
import type { OrderUpdate } from 'tidemark/records';

const {
  KAFKA_BROKERS = '127.0.0.1:9092',
  TOPIC_PREFIX = '',
  GROUP_ID = 'my-service',
  STATE_FILE = 'orders.sqlite',
} = process.env;
const updates = `${TOPIC_PREFIX}tidemark.order-updates.v1`;
const state = `${TOPIC_PREFIX}tidemark.order-state.v1`;
/** A partition without new records tells nothing by itself: its beginning may have passed us unseen. */
const lookEveryMs = 30_000;

const database = new DatabaseSync(STATE_FILE);
database.exec(`pragma journal_mode = wal;
  create table if not exists orders (key text primary key, generation integer, revision integer, status text, cum_qty text, record text, partition integer);
  create table if not exists positions (partition integer primary key, next text);
  create temp table shown (key text primary key)`);
// A file of an earlier version lacks it: an order there has none until its next change, and is named at each start from nothing.
if (database.prepare(`select 1 from pragma_table_info('orders') where name = 'partition'`).get() === undefined)
  database.exec('alter table orders add column partition integer');
const readLast = database.prepare('select generation, revision from orders where key = ?');
const keep = database.prepare('insert or replace into orders values (?, ?, ?, ?, ?, ?, ?)');

/** The next offset of each partition of the updates topic, kept with the orders: what the group has committed says nothing about what this file has. */
const positions = new Map<number, bigint>(
  database
    .prepare('select partition, next from positions')
    .all()
    .map(({ partition, next }) => [Number(partition), BigInt(String(next))]),
);
const keepPosition = database.prepare('insert or replace into positions values (?, ?)');
/** The topic was made anew, so what is kept is no position on it. */
function forget(partition: number): void {
  positions.set(partition, -1n);
  keepPosition.run(partition, '-1');
}
const show = database.prepare('insert or ignore into shown values (?)');
const readUnshown = database.prepare(`select key, status, partition from orders
  where key not in (select key from shown) and status not in ('filled', 'canceled', 'rejected', 'expired', 'replaced')`);

interface Received {
  readonly topic: string;
  readonly partition: number;
  readonly message: { readonly offset: string; readonly value: Buffer | null };
}

/** Undefined for what Tidemark never writes: a tombstone, or a record of another program. What is kept of the order stays; `tidemark verify` finds such records. */
function updateOf({ topic, partition, message }: Received): OrderUpdate | undefined {
  try {
    const update: OrderUpdate | null = JSON.parse(message.value?.toString() ?? '');
    if (update?.schema === 'tidemark.order-update.v1' && typeof update.order?.status === 'string') return update;
  } catch {}
  process.stderr.write(`${topic} ${partition} ${message.offset}: passed over a record that is no update\n`);
  return undefined;
}

/** One transaction. */
function inOne(work: () => void): void {
  database.exec('begin immediate');
  try {
    work();
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

/** What is to be said once the transaction is committed. */
interface Words {
  readonly said: string[];
  readonly lost: string[];
}

/** The one rule: nothing where it is a repeat. */
function take(update: OrderUpdate, { partition, message }: Received, isState: boolean, { said, lost }: Words): void {
  const { stream, orderId, generation, revision, order } = update;
  const key = `${stream}:${orderId}`;
  const last = readLast.get(key) as { generation: number; revision: number } | undefined;
  const isNew =
    last === undefined || generation > last.generation || (generation === last.generation && revision > last.revision);
  if (isNew) keep.run(key, generation, revision, order.status, order.cumQty, String(message.value), partition);
  if (isState) show.run(key);
  if (!isNew || isState) return;
  const expected = last === undefined ? 1 : generation === last.generation ? last.revision + 1 : revision;
  if (revision > expected) lost.push(`${key}: lost ${expected} to ${revision - 1}\n`);
  said.push(`${key} ${generation}.${revision} ${order.status} ${order.cumQty}\n`);
}

/** Records of one partition, in their order, in one transaction. Nothing is said before it is done, and nothing waits within it. `next`: the position behind them. */
function takeAll(records: readonly Received[], next?: bigint): void {
  const words: Words = { said: [], lost: [] };
  inOne(() => {
    for (const received of records) {
      const update = updateOf(received);
      if (update !== undefined) take(update, received, next === undefined, words);
    }
    if (next !== undefined && records[0] !== undefined) keepPosition.run(records[0].partition, String(next));
  });
  process.stderr.write(words.lost.join(''));
  process.stdout.write(words.said.join(''));
}

const kafka = new Kafka({ clientId: GROUP_ID, brokers: KAFKA_BROKERS.split(','), logLevel: logLevel.ERROR });

async function offsetsOf(admin: Admin, topic: string, edge: 'low' | 'high'): Promise<Map<number, bigint>> {
  const found = await admin.fetchTopicOffsets(topic);
  return new Map(found.map((partition) => [partition.partition, BigInt(partition[edge])]));
}

/**
 * Reads these partitions of the state topic to the end of what is committed, the only end that kafkajs's admin asks for. They may be behind the updates topic, which is
 * read from its beginning after them. A key has one partition number on both topics, and the other partitions go on from their own positions: beside their state, the
 * changes that they have still to bring would be repeats.
 */
async function readState(admin: Admin, partitions: readonly number[]): Promise<void> {
  database.exec('delete from shown');
  const reached = await offsetsOf(admin, state, 'low');
  const ends = await offsetsOf(admin, state, 'high');
  const others = [...ends.keys()].filter((partition) => !partitions.includes(partition));
  const isBehind = () => partitions.some((partition) => (reached.get(partition) ?? 0n) < (ends.get(partition) ?? 0n));
  if (!isBehind()) return;
  const over = Promise.withResolvers<void>();
  const consumer = kafka.consumer({ groupId: `${GROUP_ID}-bootstrap-${crypto.randomUUID()}`, readUncommitted: false });
  consumer.on(consumer.events.GROUP_JOIN, () => consumer.pause([{ topic: state, partitions: others }]));
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    // Told for what held only a transaction's markers, too, which no message shows.
    reached.set(payload.partition, BigInt(payload.lastOffset) + 1n);
    if (!isBehind()) over.resolve();
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) over.reject(payload.error);
  });
  await consumer.connect();
  await consumer.subscribe({ topic: state, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch: { topic, partition, messages } }) => {
      takeAll(messages.map((message) => ({ topic, partition, message })));
    },
  });
  await over.promise;
  await consumer.disconnect();
}

/**
 * Starts those partitions from nothing whose position is not on the topic: none is kept, what follows it was deleted unread, or the topic was made anew. Kafka's
 * clients go on elsewhere without a word then, and an order that ended meanwhile would stay open here for ever. No clock is asked: whatever the state topic lacks is
 * behind the beginning that the updates topic had before the state was read. True: some began again.
 */
async function settle(admin: Admin, partitions: readonly number[]): Promise<boolean> {
  // As they are before the ends are asked for: what arrives meanwhile is taken meanwhile, and would lie above an end that is a moment old.
  const before = new Map(positions);
  const begin = await offsetsOf(admin, updates, 'low');
  const end = await offsetsOf(admin, updates, 'high');
  const outside = partitions.filter((partition) => {
    const next = before.get(partition) ?? -1n;
    return next < (begin.get(partition) ?? 0n) || next > (end.get(partition) ?? 0n);
  });
  if (outside.length === 0) return false;
  if (positions.size > 0)
    process.stderr.write(`${updates}: partitions ${outside.join(', ')} begin again from the state topic\n`);
  await readState(admin, outside);
  for (const partition of outside) positions.set(partition, begin.get(partition) ?? 0n);
  inOne(() => {
    for (const partition of outside) keepPosition.run(partition, String(positions.get(partition)));
  });
  // Younger than the state topic, or of a database that the service no longer has: ask REST about those that stay.
  for (const { key, status, partition } of readUnshown.all())
    if (partition === null || outside.includes(Number(partition)))
      process.stderr.write(`${key}: kept as ${status}, and the state topic does not show it\n`);
  return true;
}

/** A broker that is new to a group says so for a moment ("not coordinator", "loading"), and kafkajs's admin does not ask again. */
async function patiently<T>(ask: () => Promise<T>, tries = 20): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (tries <= 1 || !(error instanceof Error && 'retriable' in error && error.retriable === true)) throw error;
    await setTimeout(500);
    return patiently(ask, tries - 1);
  }
}

const admin = kafka.admin();
await admin.connect();
// Kafka forgets the group's offsets with the topic: where it has none, and we have a position, the topic was made anew.
const committed = await patiently(() => admin.fetchOffsets({ groupId: GROUP_ID, topics: [updates] }));
for (const { partition, offset } of committed.flatMap(({ partitions }) => partitions))
  if (BigInt(offset) < 0n && positions.has(partition)) forget(partition);

// After a kill nobody reads until the group has given the dead member up: by default 30 s.
const consumer = kafka.consumer({ groupId: GROUP_ID, sessionTimeout: 10_000 });
// kafkajs goes on by itself after what can be retried. After anything else: end, and be started again.
consumer.on(consumer.events.CRASH, ({ payload }) => {
  if (!payload.restart) process.exit(1);
});
let assigned: readonly number[] = [];
/** Partitions that are read from our own position since they were assigned. */
const inStep = new Set<number>();
const seek = (partition: number) => {
  const next = positions.get(partition) ?? -1n; // without one it is settled first
  if (next >= 0n) consumer.seek({ topic: updates, partition, offset: String(next) });
};

let settling: Promise<unknown> = Promise.resolve();
/** One at a time. */
function settleNext(partitions: readonly number[]): Promise<boolean> {
  const next = settling.then(() => settle(admin, partitions));
  settling = next.catch(() => undefined);
  return next;
}

/** Looks at what is assigned to us: another member reads the rest, and our positions there stand still. */
const look = () =>
  void settleNext(assigned).then(
    (beganAgain) => beganAgain && assigned.forEach(seek),
    (error) => process.stderr.write(`${updates}: could not be looked at, and will be again: ${error}\n`),
  );
consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  assigned = payload.memberAssignment[updates] ?? [];
  inStep.clear();
  assigned.forEach(seek);
  look();
});

/** A record that is not the next one of its partition. True: nothing lies between the two, and it may be taken. */
async function isBehindGap(partition: number, offset: bigint, heartbeat: () => Promise<void>): Promise<boolean> {
  const next = positions.get(partition) ?? -1n;
  const wasInStep = inStep.has(partition);
  const beating = setInterval(() => void heartbeat().catch(() => undefined), 2_000);
  try {
    // Once in step, an earlier offset comes only from a topic that was made anew. A later one comes by what another member committed, or kafkajs went on elsewhere.
    if (wasInStep && offset < next) forget(partition);
    const beganAgain = await settleNext([partition]);
    if (wasInStep && !beganAgain && positions.get(partition) === next) return true;
  } finally {
    clearInterval(beating);
  }
  inStep.add(partition);
  seek(partition);
  return false;
}

await consumer.connect();
await consumer.subscribe({ topic: updates, fromBeginning: true });
await consumer.run({
  eachBatchAutoResolve: false,
  eachBatch: async ({ batch: { topic, partition, messages }, resolveOffset, heartbeat, isRunning, isStale }) => {
    const offsets = messages.map(({ offset }) => BigInt(offset));
    for (let from = 0; from < messages.length; ) {
      // The group is left, or we have sought elsewhere: these are not the next ones any more.
      if (!isRunning() || isStale()) return;
      const first = offsets[from] ?? 0n;
      if (first !== positions.get(partition) && !(await isBehindGap(partition, first, heartbeat))) return;
      inStep.add(partition);
      const gap = offsets.findIndex((offset, at) => at > from && offset !== first + BigInt(at - from));
      const to = gap < 0 ? messages.length : gap;
      const last = first + BigInt(to - from - 1);
      takeAll(
        messages.slice(from, to).map((message) => ({ topic, partition, message })),
        last + 1n,
      );
      positions.set(partition, last + 1n);
      resolveOffset(String(last));
      await heartbeat();
      from = to;
    }
  },
});
setInterval(look, lookEveryMs);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void consumer.disconnect().finally(() => process.exit()));

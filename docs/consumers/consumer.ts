/**
 * A whole consumer of Tidemark's topics: starts from nothing by the state topic, then takes each accepted change exactly once, over restarts, kills and
 * repeats. What it keeps is one SQLite file; put your own effects into the transaction of `take`, and they happen once as well.
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
/** How far two clocks of the service's machines may be apart. */
const clockMarginMs = 60_000;

const database = new DatabaseSync(STATE_FILE);
database.exec(`pragma journal_mode = wal;
  create table if not exists orders (key text primary key, generation integer, revision integer, status text, cum_qty text, record text)`);
const readLast = database.prepare('select generation, revision from orders where key = ?');
const keep = database.prepare(
  `insert into orders values (?, ?, ?, ?, ?, ?) on conflict (key) do update set
     generation = excluded.generation, revision = excluded.revision, status = excluded.status, cum_qty = excluded.cum_qty, record = excluded.record`,
);

interface Received {
  readonly topic: string;
  readonly partition: number;
  readonly message: { readonly offset: string; readonly value: Buffer | null };
}

/** Undefined for what Tidemark never writes: a tombstone, or a record of another program. What is kept of the order stays; `tidemark audit` finds such records. */
function updateOf({ topic, partition, message }: Received): OrderUpdate | undefined {
  try {
    const update: OrderUpdate | null = JSON.parse(message.value?.toString() ?? '');
    if (update?.schema === 'tidemark.order-update.v1' && typeof update.order?.status === 'string') return update;
  } catch {}
  process.stderr.write(`${topic} ${partition} ${message.offset}: passed over a record that is no update\n`);
  return undefined;
}

/** The one rule. False: a repeat. */
function take(update: OrderUpdate, text: string, source: 'state' | 'updates'): boolean {
  const { stream, orderId, generation, revision, order } = update;
  const key = `${stream}:${orderId}`;
  database.exec('begin immediate');
  try {
    const last = readLast.get(key) as { generation: number; revision: number } | undefined;
    const isNew =
      last === undefined || generation > last.generation || (generation === last.generation && revision > last.revision);
    if (isNew) keep.run(key, generation, revision, order.status, order.cumQty, text);
    database.exec('commit');
    if (!isNew || source === 'state') return isNew;
    const expected = last === undefined ? 1 : generation === last.generation ? last.revision + 1 : revision;
    if (revision > expected) process.stderr.write(`${key}: lost ${expected} to ${revision - 1}\n`);
    process.stdout.write(`${key} ${generation}.${revision} ${order.status} ${order.cumQty}\n`);
    return true;
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

const kafka = new Kafka({ clientId: GROUP_ID, brokers: KAFKA_BROKERS.split(','), logLevel: logLevel.ERROR });

async function offsetsOf(admin: Admin, topic: string, edge: 'low' | 'high'): Promise<Map<number, bigint>> {
  const found = await admin.fetchTopicOffsets(topic);
  return new Map(found.map((partition) => [partition.partition, BigInt(partition[edge])]));
}

/**
 * Reads the state topic to its end, twice over: a flush of the writer may lie across partitions, and whatever belongs to one that the first pass saw is
 * below the ends that are asked for after it. Returns how far the writer had certainly come: the newest `observedAt` of the first pass, in ms.
 */
async function readState(admin: Admin): Promise<number | undefined> {
  const reached = await offsetsOf(admin, state, 'low');
  const first = await offsetsOf(admin, state, 'high');
  let cameTo: number | undefined;
  let wake = () => {};
  const consumer = kafka.consumer({ groupId: `${GROUP_ID}-bootstrap-${crypto.randomUUID()}`, readUncommitted: false });
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    // Told for what held only a transaction's markers, too, which no message shows.
    reached.set(payload.partition, BigInt(payload.lastOffset) + 1n);
    wake();
  });
  const readTo = async (ends: ReadonlyMap<number, bigint>) => {
    while ([...ends].some(([partition, end]) => (reached.get(partition) ?? 0n) < end)) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  await consumer.connect();
  await consumer.subscribe({ topic: state, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: async (received) => {
      const { partition, message } = received;
      const update = updateOf(received);
      if (update === undefined) return;
      take(update, String(message.value), 'state');
      if (BigInt(message.offset) >= (first.get(partition) ?? 0n)) return;
      cameTo = Math.max(cameTo ?? 0, Date.parse(update.observedAt));
    },
  });
  await readTo(first);
  await readTo(await offsetsOf(admin, state, 'high'));
  await consumer.disconnect();
  return cameTo;
}

/** Where the updates topic has to be read from. A record's timestamp is when it was sent, so whatever the state topic lacks was sent after `cameTo`. */
async function startOf(admin: Admin, cameTo: number | undefined): Promise<{ partition: number; offset: string }[]> {
  if (cameTo !== undefined) return admin.fetchTopicOffsetsByTimestamp(updates, cameTo - clockMarginMs);
  const low = await offsetsOf(admin, updates, 'low');
  return [...low].map(([partition, offset]) => ({ partition, offset: String(offset) }));
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
const [committed] = await patiently(() => admin.fetchOffsets({ groupId: GROUP_ID, topics: [updates] }));
// Nothing is kept, or away for so long that the broker forgot the group's offsets: what is missing may be gone from the updates topic, and the state is there.
const isEmpty = database.prepare('select 1 from orders limit 1').get() === undefined;
if (isEmpty || committed === undefined || committed.partitions.some(({ offset }) => offset === '-1')) {
  const partitions = await startOf(admin, await readState(admin));
  await patiently(() => admin.setOffsets({ groupId: GROUP_ID, topic: updates, partitions }));
}
await admin.disconnect();

// After a kill nobody reads until the group has given the dead member up: by default 30 s.
const consumer = kafka.consumer({ groupId: GROUP_ID, sessionTimeout: 10_000 });
// kafkajs goes on by itself after what can be retried. After anything else: end, and be started again.
consumer.on(consumer.events.CRASH, ({ payload }) => {
  if (!payload.restart) process.exit(1);
});
await consumer.connect();
await consumer.subscribe({ topic: updates, fromBeginning: true });
// Offsets are committed behind the work, so a kill leads to repeats, which `take` drops.
await consumer.run({
  eachMessage: async (received) => {
    const update = updateOf(received);
    if (update !== undefined) take(update, String(received.message.value), 'updates');
  },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void consumer.disconnect());

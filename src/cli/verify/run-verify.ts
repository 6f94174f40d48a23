import type { Pool } from 'pg';
import type { KafkaOptions } from '../../service/log/kafka-options.ts';
import type { TopicNames } from '../../service/log/topics.ts';
import {
  type AuditedOrder,
  auditOrders,
  countDeadLetterOrders,
  type DeadLetters,
  readRevisions,
  readStandby,
  type Standby,
} from '../../store/commands/audit-reads.ts';
import { relayBacklog } from '../../store/orders/update-log.ts';
import { type Acknowledged, judgeOrder, type VerifyFinding } from './judge-order.ts';
import { type FoldDeps, foldTopic, type StrayRecord, type TopicFold } from './topic-fold.ts';

export interface VerifyDeps extends FoldDeps {
  readonly pool: Pool;
  /** Called at the start of each step. */
  readonly onStep: (sentence: string) => void;
}

export interface VerifyOptions {
  readonly kafka: KafkaOptions;
  readonly topics: TopicNames;
  /** By the plan for the updates topic. */
  readonly retentionDays: number;
  /** Leaves out the topic of updates, by far the longest. */
  readonly stateOnly: boolean;
  /** How long to wait for records under way. */
  readonly waitMs: number;
}

export interface VerifyResult {
  readonly orders: number;
  /** Records read, updates and states. */
  readonly records: number;
  readonly findings: readonly VerifyFinding[];
  /** The platform's word on these is in none of the three, so they are not compared. */
  readonly deadLetters: DeadLetters;
  /** The server takes no writes. `replayedAt`: its newest commit, by the primary's clock. */
  readonly standby?: Standby;
}

/**
 * Compares database, log and topics, with or without a running service. The database is read first.
 * Then the relay gets time to publish that state, and the topics are read last: a record they lack
 * is missing. A record that only they have is looked up in the database once more. Changes nothing.
 * Rejects with the signal's reason when it aborts.
 *
 * Memory: about half a kilobyte for each order.
 */
export async function runVerify(deps: VerifyDeps, options: VerifyOptions): Promise<VerifyResult> {
  const { pool, onStep } = deps;
  const { topics, stateOnly } = options;
  onStep('reading the orders and the log');
  const orders: AuditedOrder[] = [];
  for await (const order of auditOrders(pool)) {
    deps.signal.throwIfAborted();
    orders.push(order);
    if (orders.length % 1_000 === 0) deps.onProgress(undefined, orders.length, 'order');
  }
  deps.onProgress(1, orders.length, 'order');
  onStep('waiting for records under way');
  const acknowledged = await awaitRelay(deps, options);
  onStep(`reading ${topics.state}`);
  const state = await foldTopic(deps, { ...options, topic: topics.state, byPlace: true });
  if (!stateOnly) onStep(`reading ${topics.updates}`);
  const updates = stateOnly ? undefined : await foldTopic(deps, { ...options, topic: topics.updates, byPlace: false });
  // Retention, less an hour: a record being deleted is not missing.
  const keptForMs = (options.retentionDays * 24 - 1) * 3_600_000;
  // An empty partition does not show how far back its records went.
  const keptSinceMs = updates && Math.max(updates.keptSinceMs, deps.clock.nowMs() - keptForMs);
  const findings = orders.flatMap((order) => {
    const key = `${order.stream}:${order.orderId}`;
    return judgeOrder(order, {
      state: state.newest.get(key),
      stray: state.strays.get(key),
      updates: updates?.newest.get(key),
      hole: updates?.holes.get(key),
      keptSinceMs,
      acknowledged: acknowledged(order.newest?.lane),
    });
  });
  const known = new Set(orders.map(({ stream, orderId }) => `${stream}:${orderId}`));
  const missing = [
    ...(await stillMissing(pool, findings, [state, updates])),
    ...(await ordersOnTopicsOnly(pool, known, [state, updates])),
  ];
  const standby = await readStandby(pool);
  return {
    ...(standby !== undefined && { standby }),
    orders: orders.length,
    deadLetters: await countDeadLetterOrders(pool),
    records: state.records + (updates?.records ?? 0),
    findings: [
      // A standby lacks what it has not replayed yet: that is no loss.
      ...missing.map((each) =>
        standby !== undefined && each.hop === 'database' ? { ...each, hop: 'standby' as const } : each,
      ),
      // Under the key of an order it has replaced a state, and is found as that. A tombstone with
      // another key removes a foreign record.
      ...foreign(topics.state, state, (key, { kind }) => kind === 'foreign' && !known.has(key)),
      ...(updates === undefined ? [] : foreign(topics.updates, updates, () => true)),
    ],
  };
}

function foreign(
  topic: string,
  fold: TopicFold,
  counts: (key: string, stray: StrayRecord) => boolean,
): VerifyFinding[] {
  const found = [...fold.strays].filter(([key, stray]) => counts(key, stray));
  const findings = found.map(([key, { kind, partition, offset }]): VerifyFinding => {
    const what = kind === 'tombstone' ? 'a tombstone' : 'a record that is not an update';
    return {
      hop: 'foreign',
      ...(key !== '' && { key }),
      detail: `${what} on ${topic}, partition ${partition}, offset ${offset}`,
    };
  });
  if (fold.unlistedStrays > 0)
    findings.push({ hop: 'foreign', detail: `${fold.unlistedStrays} more on ${topic}, of other keys` });
  return findings;
}

/**
 * Waits for the relays. Returns, for each lane, the cursors still short of its log's end as it was
 * at the start.
 */
async function awaitRelay(
  { pool, clock, signal }: VerifyDeps,
  { waitMs }: VerifyOptions,
): Promise<(lane: number | undefined) => Acknowledged> {
  const giveUpMs = clock.monotonicMs() + waitMs;
  const targets = new Map((await relayBacklog(pool)).map(({ lane, cursor, newest }) => [`${lane} ${cursor}`, newest]));
  for (;;) {
    const behind = (await relayBacklog(pool)).filter(
      ({ lane, cursor, passed }) => passed < (targets.get(`${lane} ${cursor}`) ?? 0n),
    );
    const at = (of: number | undefined, name: 'log' | 'state') =>
      behind.find(({ lane, cursor }) => lane === of && cursor === name)?.passed;
    if (behind.length === 0 || clock.monotonicMs() >= giveUpMs)
      return (lane) => ({ log: at(lane, 'log'), state: at(lane, 'state') });
    await clock.sleep(250, signal);
    signal.throwIfAborted();
  }
}

const askedAtOnce = 5_000;

/** A running service goes on: orders found only on the topics may be in the database by now. */
async function stillMissing(
  pool: Pool,
  findings: VerifyFinding[],
  folds: readonly (TopicFold | undefined)[],
): Promise<VerifyFinding[]> {
  const keys = findings.flatMap(({ hop, key }) => (hop === 'database' && key !== undefined ? [key] : []));
  const now = await revisionsOf(pool, keys);
  return findings.filter(({ hop, key = '' }) => hop !== 'database' || (now.get(key) ?? 0) < highest(key, folds));
}

/** Orders on a topic but not in the database. */
async function ordersOnTopicsOnly(
  pool: Pool,
  known: ReadonlySet<string>,
  folds: readonly (TopicFold | undefined)[],
): Promise<VerifyFinding[]> {
  const keys = new Set<string>();
  for (const fold of folds) for (const key of fold?.newest.keys() ?? []) if (!known.has(key)) keys.add(key);
  const now = await revisionsOf(pool, [...keys]);
  return [...keys]
    .filter((key) => !now.has(key))
    .map((key) => ({
      hop: 'database',
      key,
      detail: `Kafka has revision ${highest(key, folds)}, the database does not know the order`,
    }));
}

async function revisionsOf(pool: Pool, keys: readonly string[]): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let from = 0; from < keys.length; from += askedAtOnce)
    for (const [key, revision] of await readRevisions(pool, keys.slice(from, from + askedAtOnce)))
      found.set(key, revision);
  return found;
}

function highest(key: string, folds: readonly (TopicFold | undefined)[]): number {
  return Math.max(...folds.map((fold) => fold?.newest.get(key)?.revision ?? 0));
}

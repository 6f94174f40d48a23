/**
 * Says whether the topics have every update that Tidemark committed, by the proofs on the watermark topic, without a question to Tidemark.
 *
 *   npm install kafkajs && KAFKA_BROKERS=127.0.0.1:9092 SINCE=2026-11-21T14:00:00Z node verify.ts      # Node 24
 *
 * `Verifier` is the whole rule: to prove your own consumer, give it the values that your consumer took. docs/consuming.md, "Proof", gives the reasons.
 */
import { hash } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import type { OrderUpdate, Watermark } from 'tidemark/records';

interface Reached {
  readonly generation: number;
  readonly upTo: bigint;
  readonly at: string;
  /** Since when there was no hole, and the updates since then. */
  readonly since: string;
  readonly updates: number;
}

export class Verifier {
  /** By lane and generation, then by batch: the hash of each update, by its order and revision, so that a repeat counts once. */
  private readonly open = new Map<string, Map<bigint, Map<string, number>>>();
  private readonly reached = new Map<number, Reached>();

  /** Each value of the updates topic. Throws at one that is not from Tidemark, as `mark` does. */
  update(value: string | Buffer): void {
    const { schema, stream, orderId, revision, generation, lane, batch } = JSON.parse(String(value)) as OrderUpdate;
    if (schema !== 'tidemark.order-update.v1') throw new Error('no update');
    if (lane === undefined || batch === undefined || this.isProven(lane, generation, BigInt(batch))) return;
    const batches = entry(this.open, `${lane} ${generation}`);
    const updates = entry(batches, BigInt(batch));
    const name = `${stream}:${orderId} ${revision}`;
    if (!updates.has(name)) updates.set(name, Number.parseInt(hash('sha256', value).slice(0, 12), 16));
  }

  /** Each value of the watermark topic, after all updates that were sent before it. Returns the holes that it shows. */
  mark(value: string | Buffer): string[] {
    const { schema, proof, at } = JSON.parse(String(value)) as Watermark;
    if (schema !== 'tidemark.watermarks.v1') throw new Error('no mark');
    if (proof === undefined || this.isProven(proof.lane, proof.generation, BigInt(proof.upTo))) return [];
    const { lane, generation, count, hash: wanted } = proof;
    const [after, upTo] = [BigInt(proof.after), BigInt(proof.upTo)];
    const found = this.take(`${lane} ${generation}`, after, upTo);
    const last = this.reached.get(lane);
    const holes: string[] = [];
    if (last !== undefined && last.generation !== generation) {
      holes.push(`generation ${generation} begins, and no proof says how generation ${last.generation} ended`);
      this.open.delete(`${lane} ${last.generation}`);
    } else if (last !== undefined && after !== last.upTo)
      holes.push(`no proof of batches ${last.upTo + 1n} to ${after}`);
    const batches = `batches ${after + 1n} to ${upTo}`;
    if (last !== undefined && found.count !== count) holes.push(`${batches}: ${found.count} of ${count} updates`);
    else if (last !== undefined && found.hash !== wanted) holes.push(`${batches}: other content`);
    const whole = last !== undefined && holes.length === 0;
    this.reached.set(lane, {
      generation,
      upTo,
      at,
      since: whole ? last.since : at,
      updates: whole ? last.updates + count : 0,
    });
    return holes.map((hole) => `lane ${lane}: HOLE from ${last?.at} to ${at}: ${hole}`);
  }

  /** Up to where all updates are here, a line for each lane. */
  complete(): string[] {
    const lanes = [...this.reached];
    return lanes.map(
      ([lane, { since, at, updates }]) => `lane ${lane}: complete from ${since} to ${at}: ${updates} updates`,
    );
  }

  private isProven(lane: number, generation: number, batch: bigint): boolean {
    const last = this.reached.get(lane);
    return (
      last !== undefined && (generation < last.generation || (generation === last.generation && batch <= last.upTo))
    );
  }

  private take(name: string, after: bigint, upTo: bigint): { count: number; hash: string } {
    let count = 0;
    let sum = 0;
    for (const [batch, updates] of this.open.get(name) ?? []) {
      if (batch > upTo) continue;
      this.open.get(name)?.delete(batch);
      if (batch <= after) continue;
      count += updates.size;
      for (const each of updates.values()) sum = (sum + each) % 2 ** 48;
    }
    return { count, hash: sum.toString(16).padStart(12, '0') };
  }
}

function entry<K, K2, V>(map: Map<K, Map<K2, V>>, key: K): Map<K2, V> {
  const found = map.get(key) ?? new Map<K2, V>();
  map.set(key, found);
  return found;
}

const { KAFKA_BROKERS = '127.0.0.1:9092', TOPIC_PREFIX = '', SINCE } = process.env;
const marks = `${TOPIC_PREFIX}tidemark.watermarks.v1`;
const updates = `${TOPIC_PREFIX}tidemark.order-updates.v1`;

interface Part {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly end: bigint;
}

/** Both topics from `SINCE` (an hour ago) to their present ends. That of the watermark topic is asked for first: all updates before a mark were sent before it. */
async function partsOf(kafka: Kafka): Promise<Part[]> {
  const sinceMs = SINCE === undefined ? Date.now() - 3_600_000 : Date.parse(SINCE);
  if (Number.isNaN(sinceMs))
    throw new Error(`SINCE must be an instant like 2026-11-21T14:00:00Z, and "${SINCE}" is none`);
  const admin = kafka.admin();
  await admin.connect();
  const parts: Part[] = [];
  for (const topic of [marks, updates]) {
    const ends = new Map(
      (await admin.fetchTopicOffsets(topic)).map(({ partition, high }) => [partition, BigInt(high)]),
    );
    // The first mark is of a batch whose updates may have been sent before it.
    const starts = await admin.fetchTopicOffsetsByTimestamp(topic, topic === updates ? sinceMs - 60_000 : sinceMs);
    for (const start of starts) parts.push({ topic, ...start, end: ends.get(start.partition) ?? 0n });
  }
  await admin.disconnect();
  return parts.filter(({ offset, end }) => BigInt(offset) < end);
}

/** Gives the verifier all updates, then all marks. */
async function verify(kafka: Kafka, verifier: Verifier): Promise<string[]> {
  const parts = await partsOf(kafka);
  const left = new Map(parts.map((part) => [`${part.topic} ${part.partition}`, part]));
  const read: { readonly where: string; readonly value: Buffer | null }[] = [];
  const consumer = kafka.consumer({ groupId: `verify-${crypto.randomUUID()}` });
  const over = Promise.withResolvers<void>();
  if (left.size === 0) over.resolve();
  // Only a member can seek, and the first try to become one may fail.
  consumer.on(consumer.events.GROUP_JOIN, () => {
    for (const part of parts) consumer.seek(part);
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [marks, updates], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, partition, message: { offset, value } }) => {
      const part = left.get(`${topic} ${partition}`);
      if (part === undefined || BigInt(offset) < BigInt(part.offset)) return;
      const where = `${topic}, partition ${partition}, offset ${offset}`;
      if (topic === marks) read.push({ where, value });
      else known(where, () => [verifier.update(value ?? '')]);
      if (BigInt(offset) < part.end - 1n) return;
      left.delete(`${topic} ${partition}`);
      if (left.size === 0) over.resolve();
    },
  });
  await over.promise;
  await consumer.disconnect();
  return read.flatMap(({ where, value }) => known(where, () => verifier.mark(value ?? '')));
}

/** A record of another program proves nothing, and hides nothing. */
function known<T>(where: string, work: () => T[]): T[] {
  try {
    return work();
  } catch {
    process.stderr.write(`passed over a record that is not from Tidemark: ${where}\n`);
    return [];
  }
}

if (import.meta.main) {
  const verifier = new Verifier();
  const kafka = new Kafka({ clientId: 'verify', brokers: KAFKA_BROKERS.split(','), logLevel: logLevel.ERROR });
  const holes = await verify(kafka, verifier);
  const lines = [...holes, ...verifier.complete()];
  for (const line of lines) process.stdout.write(`${line}\n`);
  if (lines.length === 0) process.stderr.write('no proof since then: nothing was verified\n');
  // 1 is that of a program that failed, and that of one that verified nothing.
  process.exitCode = holes.length > 0 ? 2 : lines.length > 0 ? 0 : 1;
}

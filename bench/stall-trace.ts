/**
 * Loaded into the service by `node --import`: notes when each batch went from one step to the next,
 * and what the process itself did meanwhile. It wraps the methods of three classes from outside, so
 * the service has no code for it and pays nothing where it is not loaded.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';
import { LogPublisher } from '../src/service/log/log-publisher.ts';
import { LatencyRecorder } from '../src/service/log/pending-watch.ts';
import { PostgresOrderStore } from '../src/store/orders/postgres-orders.ts';
import { type CoreTimes, lateMs, type StallTrace } from './stall-shares.ts';

/** Shorter than any stop that we look for, and 200 timers a second cost a thousandth of a core. */
const tickMs = 5;

interface Statement {
  readonly sentMs: number;
  readonly sent: CoreTimes;
  committedMs: number;
  committed: CoreTimes;
}

/**
 * Milliseconds that a thread ran, and that it waited for a core, since it began (schedstat of
 * proc(5)); zeros where that can't be read.
 */
function coreTimes(path: string): CoreTimes {
  try {
    const [ran = 0, waited = 0] = readFileSync(`/proc/${path}/schedstat`, 'latin1').split(' ').map(Number);
    return { ranMs: ran / 1e6, waitedMs: waited / 1e6 };
  } catch {
    return { ranMs: 0, waitedMs: 0 };
  }
}

const trace: StallTrace = {
  clockOffsetMs: Number(process.hrtime.bigint() / 1000n) / 1000 - performance.now(),
  collections: [],
  blocks: [],
  batches: [],
};

new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) trace.collections.push([startTime, startTime + duration]);
}).observe({ entryTypes: ['gc'] });

let dueMs = performance.now() + tickMs;
let waitedMs = 0;
setInterval(() => {
  const nowMs = performance.now();
  // The first thread's own times: the process has its name.
  const now = coreTimes(`self/task/${process.pid}`).waitedMs;
  if (nowMs - dueMs > 1) trace.blocks.push({ fromMs: dueMs, untilMs: nowMs, waitedForCoreMs: now - waitedMs });
  waitedMs = now;
  dueMs = nowMs + tickMs;
}, tickMs).unref();

const statements = new Map<bigint, Statement>();
let lastAnswer: { readonly atMs: number; readonly times: CoreTimes } = { atMs: 0, times: { ranMs: 0, waitedMs: 0 } };
let backend = 0;

const { applyBatch } = PostgresOrderStore.prototype;
PostgresOrderStore.prototype.applyBatch = async function traced(batch) {
  const times = coreTimes(String(backend));
  const statement: Statement = { sentMs: performance.now(), sent: times, committedMs: 0, committed: times };
  statements.set(batch.number, statement);
  const result = await applyBatch.call(this, batch);
  statement.committedMs = performance.now();
  statement.committed = coreTimes(String(backend));
  if (result.kind !== 'committed') statements.delete(batch.number);
  if (statement.committed.ranMs === 0) backend = await backendOf(this);
  return result;
};

/** The process of the lane's connection. */
async function backendOf(store: PostgresOrderStore): Promise<number> {
  const { connection } = store as unknown as { connection: { open(): Promise<{ processID?: number }> } };
  return (await connection.open()).processID ?? 0;
}

let sendMs = 0;
const { publish } = LogPublisher.prototype;
LogPublisher.prototype.publish = function traced(rows, ...rest) {
  if (rows[0]?.topic === 'updates') sendMs = performance.now();
  return publish.call(this, rows, ...rest);
};

const { record } = LatencyRecorder.prototype;
LatencyRecorder.prototype.record = function traced(batch, ackedMs) {
  record.call(this, batch, ackedMs);
  const statement = statements.get(batch.number);
  if (statement === undefined) return;
  statements.delete(batch.number);
  const { sentMs, committedMs, sent, committed } = statement;
  const aheadUntilMs = Math.max(sentMs, Math.min(lastAnswer.atMs, committedMs));
  const from = aheadUntilMs > sentMs ? lastAnswer.times : sent;
  lastAnswer = { atMs: committedMs, times: committed };
  const receivedMs = batch.receivedMs.filter((atMs) => ackedMs - atMs > lateMs);
  const backendTimes = { ranMs: committed.ranMs - from.ranMs, waitedMs: committed.waitedMs - from.waitedMs };
  const times = { sentMs, aheadUntilMs, committedMs, sendMs, ackedMs };
  trace.batches.push({ rows: batch.rows.length, receivedMs, backend: backendTimes, ...times });
};

process.on('exit', () => writeFileSync(process.env['BENCH_STALLS_FILE'] ?? '/dev/null', JSON.stringify(trace)));

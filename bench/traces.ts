/**
 * Microseconds of processor time for an update on its way from the commit to the bytes for Kafka:
 * without traces, with one update in 1,000 traced, and with every update traced. The first two take
 * turns, so that other work on the machine meets both of them; the last leaves garbage behind, and
 * comes alone. Prints JSON.
 *
 *   npx node bench/traces.ts [updates a round]
 *
 * The middle of nine rounds after three for warming up. Spans go to a collector in
 * another process, which reads and forgets them; where every update is traced,
 * most find the queue full and are dropped.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pino } from 'pino';
import type { CommittedBatch, LogRow } from '../src/domain/committed-batch.ts';
import { openTracing } from '../src/observability/open-tracing.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom } from '../src/runtime/random.ts';
import { encodeProduce } from '../src/service/log/kafkajs/encode-produce.ts';
import { UpdateTraces } from '../src/service/log/update-traces.ts';

const updatesARound = Number(process.argv[2] ?? 100_000);
const perBatch = 500;
const payload = 'x'.repeat(900);

const collector = spawn(process.execPath, [
  '-e',
  `require('http').createServer((q, r) => { q.resume(); q.on('end', () => r.end('{}')); }).listen(0, '127.0.0.1', function () { console.log(this.address().port); })`,
]);
const [port] = await once(collector.stdout, 'data');
const { tracing, drain } = openTracing(
  { clock: systemClock, random: systemRandom, log: pino(pino.destination(2)) },
  {
    endpoint: `http://127.0.0.1:${String(port).trim()}`,
    serviceName: 'bench',
    version: '0',
    sampler: 'parentbased_always_on',
    ratio: 1,
  },
);

function nextBatch(number: number): CommittedBatch {
  const nowMs = performance.now();
  const rows: LogRow[] = Array.from({ length: perBatch }, (_, i) => ({
    topic: 'updates',
    key: `prediction:7d9f0a52-4c1e-4a53-9d0e-${String(i).padStart(12, '0')}`,
    payload,
    accountId: 'acct-1',
  }));
  return {
    number: BigInt(number),
    lastSeq: undefined,
    rows,
    receivedMs: rows.map(() => nowMs),
    streams: rows.map(() => 'prediction'),
    committedMs: nowMs,
    bytes: perBatch * payload.length,
  };
}

/** As the relay and its publisher do it, without the socket. */
async function round(traces: UpdateTraces | undefined): Promise<number> {
  const batches = Array.from({ length: updatesARound / perBatch }, (_, i) => nextBatch(i));
  const before = process.cpuUsage();
  for (const batch of batches) {
    const traced = traces?.begin([batch]);
    const records = (traced?.rows ?? batch.rows).map(
      ({ key, payload, traceparent }: LogRow & { traceparent?: string }) =>
        traceparent === undefined ? { key, value: payload } : { key, value: payload, headers: { traceparent } },
    );
    encodeProduce({
      transactionalId: null,
      acks: -1,
      timeoutMs: 1000,
      producerId: -1n,
      producerEpoch: 0,
      timestampMs: 0n,
      topics: [{ topic: 'updates', partitions: [{ partition: 0, firstSequence: 0, records }] }],
    });
    traced?.end();
    await systemClock.turn();
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / updatesARound;
}

const tracesOf = (every: number) => new UpdateTraces({ tracing, random: systemRandom }, { every });
const off = { name: 'off', traces: undefined, all: [] as number[] };
const some = { name: 'oneIn1000', traces: tracesOf(1000), all: [] as number[] };
const every = { name: 'everyOne', traces: tracesOf(1), all: [] as number[] };
for (let i = 0; i < 12; i += 1)
  for (const { traces, all } of i % 2 === 0 ? [off, some] : [some, off]) all.push(await round(traces));
for (let i = 0; i < 12; i += 1) every.all.push(await round(every.traces));
const middles = [off, some, every].map(({ name, all }) => {
  const middle = all.slice(3).sort((a, b) => a - b)[4] ?? Number.NaN;
  return [name, Number(middle.toFixed(2))] as const;
});
console.log(
  JSON.stringify({ node: process.version, updatesARound, microseconds: Object.fromEntries(middles) }, null, 2),
);
await drain(new AbortController().signal);
collector.kill();

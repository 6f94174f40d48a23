import { kafkaDefaults } from '../../kafka/kafka-options.ts';
import { readTopic } from '../../kafka/read-topic.ts';
import type { Log } from '../../observability/log.ts';
import { createPool } from '../../store/pool.ts';
import { CliError } from '../cli-error.ts';
import type { CliIo } from '../io.ts';
import { proveRun, type RunProof } from '../proof/prove-run.ts';
import { TopicTally } from '../proof/topic-tally.ts';
import { visibleAccounts } from '../proof/visible-accounts.ts';
import { readConfig } from '../read-config.ts';
import { commandLog } from '../start-log.ts';
import { formatUpdate } from '../tail/format-update.ts';
import { parseUpdate } from '../tail/parse-update.ts';
import type { DemoFlags } from './demo-flags.ts';
import { type DemoStack, startStack } from './start-stack.ts';
import { whereToLook } from './where-to-look.ts';

/** Lines a second at most: the rest is counted. */
const shownPerSecond = 10;
const settleMs = 30_000;

/** Starts everything, shows updates as a consumer reads them back from Kafka, and at the end compares ledger, database and topic. */
export async function runDemo(io: CliIo, flags: DemoFlags): Promise<void> {
  const log = commandLog(io, readConfig(io));
  const out = flags.json ? io.stderr : io.stdout;
  const say = (line: string) => out.write(`${line}\n`);
  const interrupted = new AbortController();
  const unsubscribe = io.onSignal(() => interrupted.abort());
  const stack = await startStack(io, log, { rate: flags.rate, seed: flags.seed, say });
  const reading = new AbortController();
  const tally = new TopicTally();
  try {
    say(
      stack.brokers === undefined
        ? '\nWithout Kafka the log fills, and the relay waits for it.\n'
        : '\nUpdates, read back from Kafka:\n',
    );
    const consumer = consume(io, log, stack, { tally, say, signal: reading.signal });
    let ended: number | undefined;
    void stack.service.exited.then((code) => {
      ended = code;
      interrupted.abort();
    });
    await io.clock.sleep(flags.seconds === undefined ? 2_000_000_000 : flags.seconds * 1000, interrupted.signal);
    if (ended !== undefined) throw serviceEnded(ended, stack.service.lastLines());
    const proof = await settleAndProve(io, log, stack, tally);
    report(io, flags, stack, proof, say);
    reading.abort();
    await consumer;
  } finally {
    reading.abort();
    unsubscribe();
    await stack.stop();
  }
}

function serviceEnded(code: number, lines: readonly string[]): CliError {
  return new CliError(`the service ended by itself with ${code}`, {
    code: 'SERVICE_ENDED',
    mend: `It said at last:\n${lines.join('\n')}`,
  });
}

interface ConsumeOptions {
  readonly tally: TopicTally;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

async function consume(io: CliIo, log: Log, stack: DemoStack, { tally, say, signal }: ConsumeOptions): Promise<void> {
  if (stack.brokers === undefined) return;
  const kafka = { ...kafkaDefaults, brokers: stack.brokers };
  let second = 0;
  let shown = 0;
  let told = false;
  const records = readTopic(
    { log, clock: io.clock, random: io.random },
    { kafka, topic: stack.topic, from: 'beginning', readCommitted: true, signal },
  );
  for await (const { partition, value } of records) {
    if (value === undefined) continue;
    tally.take(partition, value);
    const now = Math.floor(io.clock.monotonicMs() / 1000);
    if (now !== second) [second, shown] = [now, 0];
    shown += 1;
    const update = shown <= shownPerSecond ? parseUpdate(value) : undefined;
    if (update !== undefined) say(formatUpdate(update));
    if (!told && tally.records >= 30) {
      told = true;
      say(whereToLook(stack));
    }
  }
}

/** Stops the market, waits until the service has nothing left to do, and compares. What never settles is what the proof then shows. */
async function settleAndProve(io: CliIo, log: Log, stack: DemoStack, tally: TopicTally): Promise<RunProof> {
  const { control } = stack.sandbox;
  const post = (path: string, body: unknown) =>
    io.fetch(`${control}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await post('/rate', { rate: 0 });
  await post('/heal', {});
  const accounts = await visibleAccounts(io.fetch, stack.sandbox);
  const pool = createPool({ log }, { url: stack.databaseUrl, applicationName: 'tidemark-demo', maxConnections: 2 });
  const taken = stack.brokers === undefined ? undefined : tally;
  try {
    const deadline = io.clock.monotonicMs() + settleMs;
    for (;;) {
      await io.clock.sleep(1000);
      const proof = await proveRun({ pool, fetch: io.fetch, tally: taken }, { control, accounts });
      const settled = proof.lost === 0 && (taken === undefined || proof.consumed === proof.updates);
      if (settled || io.clock.monotonicMs() > deadline) return proof;
    }
  } finally {
    await pool.end();
  }
}

function report(io: CliIo, flags: DemoFlags, stack: DemoStack, proof: RunProof, say: (line: string) => void): void {
  const { faults, ...figures } = proof;
  const { observations, updates, consumed, orders, lost, doubled, outOfOrder } = proof;
  const kept = stack.brokers === undefined ? 'all kept in the log for Kafka' : `${consumed} read back from Kafka`;
  const witnesses = stack.brokers === undefined ? 'ledger and database' : 'ledger, database and topic';
  say(`\n${observations} events sent, ${updates} changes of ${orders} orders accepted, ${kept}.`);
  say(`By ${witnesses}: ${lost} lost, ${doubled} doubled, ${outOfOrder} out of order.`);
  for (const fault of faults.slice(0, 5)) say(`  ${fault}`);
  if (flags.json) io.stdout.write(`${JSON.stringify({ ...figures, kafka: stack.kafka, postgres: stack.postgres })}\n`);
  if (lost + doubled + outOfOrder > 0) io.exit(1);
}

import { freePort } from '../src/demo/devstack/free-port.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom } from '../src/runtime/random.ts';
import { platformSettings } from '../src/sandbox/describe-sandbox.ts';
import { topicNames } from '../src/service/log/topics.ts';
import { type Child, startChild } from './child.ts';
import type { Bench } from './figure.ts';
import { parseSamples, type Sample, sumOf } from './prometheus-text.ts';
import { accountsOf, type SandboxProcess } from './sandbox-process.ts';
import { onServer } from './stack.ts';

/** `tidemark serve` in a process of its own, on a database and topics of its own. */
export interface ServiceProcess {
  readonly child: Child;
  scrape(): Promise<readonly Sample[]>;
  readonly databaseUrl: string;
  readonly updatesTopic: string;
  /** Milliseconds from the start of the process until every source was live. */
  readonly liveAfterMs: number;
  /** Ends it, and drops its database. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  /** Names the database and the topics. */
  readonly part: string;
  /** Arguments for Node itself, such as `--cpu-prof`. */
  readonly nodeArgs?: readonly string[];
  /** Settings besides those that the platform, the servers and the part give. */
  readonly env?: (sandbox: SandboxProcess) => Promise<Readonly<Record<string, string>>>;
}

/**
 * Migrates, makes the topics, starts it, and waits until it follows every account of the platform.
 */
export async function startServiceProcess(
  { cleanup, stack, build: { root } }: Bench,
  sandbox: SandboxProcess,
  { part, nodeArgs = [], env: extra }: ServiceOptions,
): Promise<ServiceProcess> {
  const database = await stack.makeDatabase(part);
  const prefix = `bench-${part}-${systemRandom.uuid().slice(0, 8)}.`;
  const env = {
    ...platformSettings(sandbox.description),
    DATABASE_URL: database.url,
    KAFKA_BROKERS: stack.kafka.brokers.join(','),
    TIDEMARK_TOPIC_PREFIX: prefix,
    TIDEMARK_HTTP_PORT: '0',
    ...(await extra?.(sandbox)),
  };
  const program = { root, script: 'bin/tidemark.js' };
  for (const words of [['migrate'], ['topics', 'apply']]) {
    const step = await startChild(cleanup, { ...program, name: words[0] ?? '', args: words, env });
    const code = await step.exited;
    await step.stop();
    if (code !== 0) throw new Error(`tidemark ${words.join(' ')} ended with ${code}`);
  }
  const startedMs = performance.now();
  const adminPort = await freePort();
  const settings = { TIDEMARK_ADMIN_PORT: String(adminPort), ...env };
  const child = await startChild(cleanup, { ...program, name: 'serve', nodeArgs, args: ['serve'], env: settings });
  const scrape = async () => parseSamples(await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text());
  await untilLive({ child, scrape }, sandbox);
  return {
    child,
    scrape,
    databaseUrl: database.url,
    updatesTopic: topicNames(prefix).updates,
    liveAfterMs: Math.round(performance.now() - startedMs),
    async stop() {
      await child.stop();
      await database.drop();
    },
  };
}

/** Resolves when it follows every account of the platform. */
async function untilLive({ child, scrape }: Pick<ServiceProcess, 'child' | 'scrape'>, sandbox: SandboxProcess) {
  // Each account has one stream, or two where it is enrolled for prediction orders.
  const sources = accountsOf(sandbox).reduce((sum, { predictions }) => sum + (predictions ? 2 : 1), 0);
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  for (let waitedMs = 0; waitedMs < 120_000; waitedMs += 25) {
    if (ended) throw new Error('the service ended before it was live');
    const samples = await scrape().catch(() => []);
    if (sumOf(samples, 'tidemark_source_state', { state: 'live' }) >= sources) return;
    await systemClock.sleep(25);
  }
  throw new Error('the service was not live within two minutes');
}

/**
 * Bytes on the disk of one row of the log, with its indexes, once nothing is being written. An
 * empty log has none.
 */
export async function logBytesPerUpdate(databaseUrl: string): Promise<number> {
  const [row] = await onServer<{ rows: string; bytes: string }>(
    databaseUrl,
    `select (select count(*) from order_updates) as rows,
            (select sum(pg_total_relation_size(relid)) from pg_partition_tree('order_updates')) as bytes`,
  );
  return Number(row?.bytes ?? 0) / Math.max(1, Number(row?.rows ?? 0));
}

import { freePort } from '../src/demo/devstack/free-port.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom } from '../src/runtime/random.ts';
import { type Child, startChild } from './child.ts';
import type { Cleanup } from './cleanup.ts';
import { parseSamples, type Sample, sumOf } from './prometheus-text.ts';
import { platformEnv, type SandboxProcess } from './sandbox-process.ts';
import { onServer, type Stack } from './stack.ts';

/** `tidemark serve` in a process of its own. */
export interface FleetProcess {
  readonly child: Child;
  scrape(): Promise<readonly Sample[]>;
}

/** One on a database and topics of its own. */
export interface ServiceProcess extends FleetProcess {
  readonly databaseUrl: string;
  /** Milliseconds from the start of the process until every source was live. */
  readonly liveAfterMs: number;
  /** Another one with equal settings, on the same database and topics. */
  startAnother(): Promise<FleetProcess>;
  /** Ends it, and drops its database. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  /** Names the database and the topics. */
  readonly part: string;
  /** Arguments for Node itself, such as `--cpu-prof`. */
  readonly nodeArgs?: readonly string[];
  /** Settings besides those that the platform, the servers and the part give. */
  readonly env?: Readonly<Record<string, string>>;
  /** How many the database gets; left out: as many as `tidemark migrate` makes. */
  readonly shards?: number;
  /** Run when the schema is there and before the service starts. */
  readonly prepare?: (databaseUrl: string) => Promise<void>;
}

/**
 * Migrates, makes the topics, starts it, and waits until it follows every account of the platform.
 */
export async function startServiceProcess(
  cleanup: Cleanup,
  stack: Stack,
  sandbox: SandboxProcess,
  { part, nodeArgs = [], env: extra = {}, shards, prepare }: ServiceOptions,
): Promise<ServiceProcess> {
  const database = await stack.makeDatabase(part);
  const env = {
    ...platformEnv(sandbox),
    DATABASE_URL: database.url,
    KAFKA_BROKERS: stack.kafka.brokers.join(','),
    TIDEMARK_TOPIC_PREFIX: `bench-${part}-${systemRandom.uuid().slice(0, 8)}.`,
    TIDEMARK_HTTP_PORT: '0',
    ...extra,
  };
  for (const words of [
    ['migrate', ...(shards === undefined ? [] : ['--shards', String(shards)])],
    ['topics', 'apply'],
  ]) {
    const step = await startChild(cleanup, { name: words[0] ?? '', script: 'bin/tidemark.js', args: words, env });
    const code = await step.exited;
    await step.stop();
    if (code !== 0) throw new Error(`tidemark ${words.join(' ')} ended with ${code}`);
  }
  await prepare?.(database.url);
  const startedMs = performance.now();
  const process = await serve(cleanup, env, nodeArgs);
  const { child } = process;
  await untilLive([process], sandbox);
  return {
    ...process,
    databaseUrl: database.url,
    liveAfterMs: Math.round(performance.now() - startedMs),
    startAnother: () => serve(cleanup, env, nodeArgs),
    async stop() {
      await child.stop();
      await database.drop();
    },
  };
}

async function serve(
  cleanup: Cleanup,
  env: Readonly<Record<string, string>>,
  nodeArgs: readonly string[],
): Promise<FleetProcess> {
  const adminPort = await freePort();
  const settings = { TIDEMARK_ADMIN_PORT: String(adminPort), ...env };
  const child = await startChild(cleanup, {
    name: 'serve',
    nodeArgs,
    script: 'bin/tidemark.js',
    args: ['serve'],
    env: settings,
  });
  return {
    child,
    scrape: async () => parseSamples(await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()),
  };
}

/**
 * Resolves when the processes follow every account of the platform between them. `each`: and each
 * of them has so many shards.
 */
export async function untilLive(processes: readonly FleetProcess[], sandbox: SandboxProcess, each = 1): Promise<void> {
  const sources = sourcesOf(sandbox);
  let ended = false;
  for (const { child } of processes)
    void child.exited.then(() => {
      ended = true;
    });
  for (let waitedMs = 0; waitedMs < 120_000; waitedMs += 25) {
    if (ended) throw new Error('the service ended before it was live');
    const samples = await Promise.all(processes.map(({ scrape }) => scrape().catch(() => [])));
    const isShared = samples.every((its) => sumOf(its, 'tidemark_shards_held') >= each);
    if (isShared && sumOf(samples.flat(), 'tidemark_source_state', { state: 'live' }) >= sources) return;
    await systemClock.sleep(25);
  }
  throw new Error('the service was not live within two minutes');
}

/**
 * The client sees everybody's accounts but carol's; each is followed on one stream, or on two where
 * it is enrolled for prediction orders.
 */
function sourcesOf({ description }: SandboxProcess): number {
  const accounts = description.users.filter(({ username }) => username !== 'carol').flatMap((user) => user.accounts);
  return accounts.length + accounts.filter(({ predictions }) => predictions).length;
}

export interface StoredSizes {
  readonly updates: number;
  /** Bytes of one record on the log topic, on average. */
  readonly payloadBytes: number;
}

/** Of the updates in a service's log. */
export async function readStoredSizes(databaseUrl: string): Promise<StoredSizes> {
  const rows = await onServer<{ updates: string; bytes: string | null }>(
    databaseUrl,
    `select count(*) as updates, avg(octet_length(payload)) as bytes from order_updates where stream <> 'continuity'`,
  );
  return { updates: Number(rows[0]?.updates ?? 0), payloadBytes: Math.round(Number(rows[0]?.bytes ?? 0)) };
}

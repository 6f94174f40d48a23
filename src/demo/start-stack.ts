import type { CliIo } from '../cli/io/io.ts';
import type { Logger } from '../observability/logger.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { fetchWithin } from '../runtime/waiting.ts';
import { type KafkaOptions, kafkaDefaults } from '../service/log/kafka-options.ts';
import { applyTopics, planTopics } from '../service/log/plan-topics.ts';
import { topicNames, topicSpecs } from '../service/log/topics.ts';
import { withAdmin } from '../service/log/with-admin.ts';
import { migrate } from '../store/migrate.ts';
import { createPool } from '../store/session/pool.ts';
import { MissingPartError } from './devstack/missing-part-error.ts';
import { type ChildProgram, jsonObject, startChild } from './stack/child-program.ts';
import type { DemoSandbox } from './stack/demo-sandbox.ts';
import { inheritedEnv, type Market, type Parts, startParts } from './stack/start-parts.ts';

export interface DemoStack {
  readonly databaseUrl: string;
  /** It came from our environment. */
  readonly databaseGiven: boolean;
  readonly postgres: string;
  /** Undefined: there is none, and `kafka` says why in one sentence. */
  readonly brokers: readonly string[] | undefined;
  readonly kafka: string;
  readonly topic: string;
  readonly topicPrefix: string;
  readonly sandbox: DemoSandbox;
  readonly adminAddress: string;
  /** The service's REST, with commands turned on: every sandbox account is simulated. */
  readonly restAddress: string;
  readonly service: ChildProgram;
  /** Stops everything that was started, the last first. */
  stop(): Promise<void>;
}

interface DemoOptions extends Market {
  /**
   * The address of "Break it": the page of the console reaches it through the
   * service.
   */
  readonly breakItUrl?: string;
  /** False: updates stay in the log, and this machine needs neither Java nor Docker. */
  readonly kafka?: boolean;
  readonly say: (line: string) => void;
  /** Ends the start, with its reason. */
  readonly signal: AbortSignal;
}

const liveWithinMs = 5_000;
const statusWithinMs = 5_000;

/** Nothing listens on the discard port: the relay tries and waits, and the log fills. */
const closedPort = '127.0.0.1:9';

/**
 * Starts Postgres, Kafka, the sandbox and the service, each as it runs in production. Started parts
 * are stopped again when a later one fails.
 */
export async function startStack(io: CliIo, log: Logger, options: DemoOptions): Promise<DemoStack> {
  const parts = await startParts(io, log, options);
  try {
    return await startServiceOn(parts, { io, log }, options);
  } catch (error) {
    await parts.stop();
    throw error;
  }
}

async function startServiceOn(
  { postgres, kafka, startSandbox, begin, stop }: Parts,
  { io, log }: { readonly io: CliIo; readonly log: Logger },
  { say, breakItUrl, signal, ...market }: DemoOptions,
): Promise<DemoStack> {
  say('Starting the sandbox and the service …');
  if (postgres.kind === 'given') await refuseUsedDatabase(log, postgres.url);
  // Not left alone at an interruption: it would meet a server that ends.
  await migrate({ url: postgres.url, log, clock: io.clock });
  signal.throwIfAborted();
  const isMissing = kafka instanceof MissingPartError;
  // A given cluster may hold other topics, also from an earlier demo: the proof at the end must
  // cover this run alone.
  const topicPrefix = !isMissing && kafka.kind === 'given' ? `demo-${io.random.uuid().slice(0, 8)}.` : '';
  if (!isMissing) await makeTopics(io, log, kafka.brokers, topicPrefix);
  const sandbox = await startSandbox(market);
  const brokers = isMissing ? [closedPort] : kafka.brokers;
  const env = serviceEnv(io, { databaseUrl: postgres.url, brokers, topicPrefix, breakItUrl }, sandbox);
  const service = await begin(() =>
    startChild(io, { name: 'service', args: ['serve'], env, pick: addressPicker(), startMs: 60_000 }),
  );
  const { adminAddress, restAddress } = service.answer as Addresses;
  // A page opened before would be empty for a moment.
  await awaitLive(io, adminAddress, io.clock.monotonicMs() + liveWithinMs, signal);
  signal.throwIfAborted();
  return {
    databaseUrl: postgres.url,
    databaseGiven: postgres.kind === 'given',
    postgres: postgres.describe,
    brokers: isMissing ? undefined : kafka.brokers,
    kafka: isMissing ? kafka.message : kafka.describe,
    topic: topicNames(topicPrefix).updates,
    ...{ topicPrefix, sandbox, adminAddress, restAddress, service, stop },
  };
}

async function makeTopics(io: CliIo, log: Logger, brokers: readonly string[], prefix: string): Promise<void> {
  const kafka: KafkaOptions = { ...kafkaDefaults, brokers };
  await withAdmin({ log, clock: io.clock }, kafka, async (admin) => {
    await applyTopics(admin, await planTopics(admin, topicSpecs(topicNames(prefix))), io.clock);
  });
}

interface ServiceParts {
  readonly databaseUrl: string;
  readonly brokers: readonly string[];
  readonly topicPrefix: string;
  readonly breakItUrl: string | undefined;
}

function serviceEnv(
  io: CliIo,
  { databaseUrl, brokers, topicPrefix, breakItUrl }: ServiceParts,
  sandbox: DemoSandbox,
): Record<string, string> {
  return {
    ...inheritedEnv(io),
    // The whole demo is on this machine.
    no_proxy: '*',
    DATABASE_URL: databaseUrl,
    KAFKA_BROKERS: brokers.join(','),
    TIDEMARK_TOPIC_PREFIX: topicPrefix,
    ...sandbox.settings,
    TIDEMARK_ADMIN_PORT: io.env['TIDEMARK_ADMIN_PORT'] ?? '0',
    TIDEMARK_HTTP_PORT: io.env['TIDEMARK_HTTP_PORT'] ?? '0',
    TIDEMARK_COMMANDS: 'on',
    ...(breakItUrl !== undefined && { TIDEMARK_CONSOLE_DEMO_URL: breakItUrl }),
    // Quicker than usual, so that a silent loss is found while a reader watches.
    TIDEMARK_AUDIT_INTERVAL_MS: '10000',
  };
}

interface Addresses {
  readonly adminAddress: string;
  readonly restAddress: string;
}

/** Both addresses, once the log has shown the second one. */
function addressPicker(): (line: string) => Addresses | undefined {
  let [adminAddress, restAddress]: (string | undefined)[] = [];
  return (line) => {
    const entry = jsonObject(line);
    if (entry?.['msg'] === 'admin port open') adminAddress = String(entry['address']);
    if (entry?.['msg'] === 'REST port open') restAddress = String(entry['address']);
    return adminAddress === undefined || restAddress === undefined ? undefined : { adminAddress, restAddress };
  };
}

/**
 * Rejects with `DATABASE_USED` if a service has run on the given database: the demo would put
 * made-up orders beside real ones, and send waiting rows to topics of its own. Reads only, and
 * before anything is migrated.
 */
export async function refuseUsedDatabase(log: Logger, url: string): Promise<void> {
  const pool = createPool({ log }, { url, applicationName: 'tidemark-demo', maxConnections: 1, statementMs: 5_000 });
  try {
    const made = await pool.query<{ made: boolean }>(`select to_regclass('public.lanes') is not null as made`);
    if (made.rows[0]?.made !== true) return;
    const { rows } = await pool.query('select from public.lanes limit 1');
    if (rows.length === 0) return;
  } finally {
    await pool.end();
  }
  throw new ProgramError('the database in DATABASE_URL was used by a service before, and the demo makes up orders', {
    code: 'DATABASE_USED',
    exitCode: exitCodes.config,
    fix: 'Name an empty database, or unset DATABASE_URL: then the demo starts one of its own.',
  });
}

/**
 * Waits until every account that the service follows is live: before that it declines to place.
 * Gives up without a message at `deadlineMs` on the monotonic clock.
 */
export async function awaitLive(
  io: Pick<CliIo, 'fetch' | 'clock'>,
  adminAddress: string,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && io.clock.monotonicMs() < deadlineMs) {
    const { text } = await fetchWithin(io, `${adminAddress}/status`, statusWithinMs);
    const { accounts = [] } = JSON.parse(text) as { readonly accounts?: readonly { readonly state: string }[] };
    const followed = accounts.filter(({ state }) => state !== 'not_enrolled');
    if (followed.length > 0 && followed.every(({ state }) => state === 'live')) return;
    await io.clock.sleep(100, signal);
  }
}

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuardedProcess } from '../../devstack/guarded-process.ts';
import { MissingPartError } from '../../devstack/missing-part-error.ts';
import { startKafka } from '../../devstack/start-kafka.ts';
import { startPostgres } from '../../devstack/start-postgres.ts';
import type { Log } from '../../observability/log.ts';
import { type KafkaOptions, kafkaDefaults } from '../../publish/kafka-options.ts';
import { applyTopics, planTopics } from '../../publish/plan-topics.ts';
import { topicNames, topicSpecs } from '../../publish/topics.ts';
import { withAdmin } from '../../publish/with-admin.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import type { SandboxDescription } from '../../sandbox/describe-sandbox.ts';
import { migrate } from '../../store/migrate.ts';
import type { CliIo } from '../io.ts';
import { awaitLive } from './await-live.ts';

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
  readonly sandbox: SandboxDescription;
  readonly adminAddress: string;
  /** REST of the service, with commands turned on: every account of the sandbox is simulated. */
  readonly restAddress: string;
  readonly service: ChildProgram;
  /** Stops everything that was started, the last first. */
  stop(): Promise<void>;
}

interface DemoOptions {
  readonly rate: number;
  readonly seed: number;
  /** Where the demo's own desk answers: the console's page "Break it" reaches it through the service. */
  readonly deskUrl: string;
  readonly say: (line: string) => void;
}

const liveWithinMs = 5_000;

/** Nothing listens on the discard port: the relay tries and waits, and the log fills. */
const closedPort = '127.0.0.1:9';

/** Starts Postgres, Kafka, the sandbox and the service, each as it runs in production. Parts that were started are stopped again when a later one fails. */
export async function startStack(io: CliIo, log: Log, options: DemoOptions): Promise<DemoStack> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const each of stops.reverse()) await each().catch((error: unknown) => log.warn({ err: error }, 'a part did not stop'));
  };
  try {
    const given = io.env['DATABASE_URL'];
    const { clock, cacheDir } = io;
    options.say('Starting Postgres …');
    const postgres = await startPostgres({ clock, log, cacheDir, ...(given === undefined ? {} : { givenUrl: given }) });
    stops.push(() => postgres.stop());
    options.say('Starting Kafka …');
    const kafka = await kafkaOrReason(io, log);
    stops.push(() => kafka.stop());
    options.say('Starting the platform and the service …');
    await migrate({ url: postgres.url, log, clock });
    // A given cluster may hold other topics, also of an earlier demo: the proof at the end must cover this run alone.
    const topicPrefix = kafka.given ? `demo-${io.random.uuid().slice(0, 8)}.` : '';
    if (kafka.brokers !== undefined) await makeTopics(io, log, kafka.brokers, topicPrefix);
    const sandbox = await startSandboxChild(io, options);
    stops.push(() => sandbox.stop());
    const description = sandbox.answer as SandboxDescription;
    const env = serviceEnv(
      io,
      { databaseUrl: postgres.url, brokers: kafka.brokers ?? [closedPort], topicPrefix, deskUrl: options.deskUrl },
      description,
    );
    const service = await startChild(io, { name: 'service', args: ['serve'], env, pick: addressPicker(), startMs: 60_000 });
    stops.push(() => service.stop());
    const { adminAddress, restAddress } = service.answer as Addresses;
    // A page that is opened before would be empty for a moment.
    await awaitLive(io, adminAddress, io.clock.monotonicMs() + liveWithinMs);
    options.say(`\nOpen      ${restAddress}/console\n`);
    options.say(`Postgres  ${postgres.describe}`);
    options.say(`Kafka     ${kafka.describe}`);
    options.say(`Sandbox   ${description.platform}, ${options.rate} changes a second, control port ${description.control}`);
    options.say(`Service   ${adminAddress}/status  /metrics  /readyz`);
    options.say(`REST      ${restAddress}/docs  /v1/orders  /v1/commands  /v1/stream`);
    const topic = topicNames(topicPrefix).updates;
    const { url: databaseUrl, describe } = postgres;
    return {
      databaseUrl,
      databaseGiven: postgres.kind === 'given',
      postgres: describe,
      brokers: kafka.brokers,
      kafka: kafka.describe,
      topic,
      topicPrefix,
      sandbox: description,
      adminAddress,
      restAddress,
      service,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface KafkaOrReason {
  readonly brokers: readonly string[] | undefined;
  readonly describe: string;
  readonly given: boolean;
  stop(): Promise<void>;
}

async function kafkaOrReason(io: CliIo, log: Log): Promise<KafkaOrReason> {
  const brokers = (io.env['KAFKA_BROKERS'] ?? '').split(',').filter((broker) => broker !== '');
  try {
    const kafka = await startKafka({ clock: io.clock, log, cacheDir: io.cacheDir, givenBrokers: brokers });
    return { brokers: kafka.brokers, describe: kafka.describe, given: kafka.kind === 'given', stop: () => kafka.stop() };
  } catch (error) {
    if (!(error instanceof MissingPartError)) throw error;
    return { brokers: undefined, describe: `none: ${error.message}`, given: false, stop: async () => undefined };
  }
}

async function makeTopics(io: CliIo, log: Log, brokers: readonly string[], prefix: string): Promise<void> {
  const kafka: KafkaOptions = { ...kafkaDefaults, brokers };
  await withAdmin({ log, clock: io.clock }, kafka, async (admin) => {
    await applyTopics(admin, await planTopics(admin, topicSpecs(topicNames(prefix))), io.clock);
  });
}

function startSandboxChild(io: CliIo, options: DemoOptions): Promise<ChildProgram> {
  const args = ['sandbox', '--json', '--rate', String(options.rate), '--seed', String(options.seed)];
  return startChild(io, { name: 'sandbox', args, env: inherited(io), pick: jsonObject, startMs: 30_000 });
}

interface ServiceParts {
  readonly databaseUrl: string;
  readonly brokers: readonly string[];
  readonly topicPrefix: string;
  readonly deskUrl: string;
}

function serviceEnv(
  io: CliIo,
  { databaseUrl, brokers, topicPrefix, deskUrl }: ServiceParts,
  sandbox: SandboxDescription,
): Record<string, string> {
  return {
    ...inherited(io),
    DATABASE_URL: databaseUrl,
    KAFKA_BROKERS: brokers.join(','),
    TIDEMARK_TOPIC_PREFIX: topicPrefix,
    PLATFORM_URL: sandbox.platform,
    PLATFORM_STAGING_URL: sandbox.staging,
    PLATFORM_AUTH_URL: sandbox.auth,
    PLATFORM_STREAM_URL: sandbox.stream,
    PLATFORM_STAGING_STREAM_URL: sandbox.stagingStream,
    PLATFORM_CLIENT_ID: sandbox.clientId,
    PLATFORM_CLIENT_SECRET: sandbox.clientSecret,
    TIDEMARK_ADMIN_PORT: io.env['TIDEMARK_ADMIN_PORT'] ?? '0',
    TIDEMARK_HTTP_PORT: io.env['TIDEMARK_HTTP_PORT'] ?? '0',
    TIDEMARK_COMMANDS: 'on',
    TIDEMARK_CONSOLE_DEMO_URL: deskUrl,
    // Quicker than usual, so that a silent loss is found while a reader watches.
    TIDEMARK_AUDIT_INTERVAL_MS: '10000',
  };
}

/** The variables of our environment that a child needs, and none that would configure it without our knowledge. */
function inherited(io: CliIo): Record<string, string> {
  const kept = Object.entries(io.env).filter(([name]) => !/^(DATABASE_URL|KAFKA_|PLATFORM_|TIDEMARK_(?!LOG_LEVEL))/.test(name));
  return Object.fromEntries(kept.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

interface Addresses {
  readonly adminAddress: string;
  readonly restAddress: string;
}

/** Both addresses, once the log has shown the second of them. */
function addressPicker(): (line: string) => Addresses | undefined {
  let [adminAddress, restAddress]: (string | undefined)[] = [];
  return (line) => {
    const entry = jsonObject(line);
    if (entry?.['msg'] === 'admin port open') adminAddress = String(entry['address']);
    if (entry?.['msg'] === 'REST port open') restAddress = String(entry['address']);
    return adminAddress === undefined || restAddress === undefined ? undefined : { adminAddress, restAddress };
  };
}

interface ChildProgram {
  readonly pid: number;
  readonly exited: Promise<number>;
  /** The result of `pick` for the first line that it accepted. */
  readonly answer: unknown;
  /** The last lines that it wrote, for the message that says why it ended. */
  lastLines(): readonly string[];
  /** Asks it to stop, and waits until it has. */
  stop(): Promise<void>;
}

interface ChildOptions {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Called with each line that it writes. The first result says that the child is ready. */
  readonly pick: (line: string) => unknown;
  readonly startMs: number;
}

const keptLines = 20;

/** Starts this program again as a process of its own that does not outlive us, and waits until it says that it is ready. Throws with its last lines otherwise. */
async function startChild(io: CliIo, options: ChildOptions): Promise<ChildProgram> {
  const lines: string[] = [];
  const ready = Promise.withResolvers<unknown>();
  const [node = '', ...entry] = io.entry;
  const child = await GuardedProcess.start(
    { clock: io.clock },
    {
      command: [node, ...entry, ...options.args],
      name: options.name,
      folder: await mkdtemp(join(tmpdir(), `tidemark-${options.name}-`)),
      stopSignal: 'TERM',
      patienceMs: 30_000,
      env: options.env,
      onLine: (line) => {
        lines.push(line);
        if (lines.length > keptLines) lines.shift();
        const answer = options.pick(line);
        if (answer !== undefined) ready.resolve(answer);
      },
    },
  );
  const ended = child.exited.then((code) => {
    throw new Error(`${options.name} ended with ${code} before it was ready:\n${lines.join('\n')}`);
  });
  ended.catch(() => undefined);
  try {
    const answer = await withDeadline(
      io.clock,
      options.startMs,
      `starting ${options.name}`,
      Promise.race([ready.promise, ended]),
    );
    return { pid: child.pid, exited: child.exited, answer, lastLines: () => lines, stop: () => child.stop() };
  } catch (error) {
    await child.stop();
    throw error;
  }
}

/** The line as a JSON object, or undefined: programs write other lines as well. */
function jsonObject(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

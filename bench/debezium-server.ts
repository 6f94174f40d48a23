import { execFile } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cachedFolder } from '../src/demo/devstack/cached-folder.ts';
import { GuardedProcess } from '../src/demo/devstack/guarded-process.ts';
import { systemClock } from '../src/runtime/clock.ts';
import type { Cleanup } from './cleanup.ts';

const run = promisify(execFile);

export const debeziumVersion = '3.6.1.Final';
const oldestJava = 21;
const unpack = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack';

export interface DebeziumServer {
  readonly pid: number;
  stop(): Promise<void>;
}

export interface DebeziumPlan {
  readonly databaseUrl: string;
  readonly brokers: readonly string[];
  /**
   * A table with the columns of Debezium's outbox router: id,
   * aggregatetype, aggregateid, type, payload.
   */
  readonly table: string;
  readonly topic: string;
}

/**
 * Debezium Server with its outbox router, tuned for latency. Rejects with a sentence where its jars
 * or a Java for it are not to be had.
 */
export async function startDebezium(cleanup: Cleanup, plan: DebeziumPlan): Promise<DebeziumServer> {
  const java = await newerJava();
  const home = await debeziumFolder();
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-debezium-'));
  await writeFile(join(folder, 'application.properties'), properties(plan, folder));
  const lines: string[] = [];
  const guarded = await GuardedProcess.start(
    { clock: systemClock },
    {
      name: 'debezium',
      command: [
        ...([java, '-Xmx512m', '-cp', `${home}/*:${home}/lib/*`] as const),
        ...[`-Dquarkus.config.locations=${folder}/application.properties`, 'io.debezium.server.Main'],
      ],
      folder,
      stopSignal: 'TERM',
      patienceMs: 20_000,
      onLine: (line) => {
        lines.push(line);
        if (lines.length > 30) lines.shift();
      },
    },
  );
  let stopping = false;
  void guarded.exited.then((code) => {
    if (!stopping) console.error(`debezium ended by itself with ${code}; its last lines:\n${lines.join('\n')}`);
  });
  const stop = cleanup.add(async () => {
    stopping = true;
    await guarded.stop();
  });
  return { pid: guarded.pid, stop };
}

/** 780 MB, copied by Maven from Maven Central once, into the cache that Kafka's jars are in. */
function debeziumFolder(): Promise<string> {
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'tidemark');
  const path = join(cache, `debezium-server-${debeziumVersion}`);
  const artifact = `io.debezium:debezium-server-dist:${debeziumVersion}:tar.gz`;
  const build = async (folder: string) => {
    const goal = ['-B', '-q', unpack, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`];
    await run('mvn', goal, { cwd: folder, timeout: 10 * 60_000, maxBuffer: 2 ** 24 }).catch((cause: Error) => {
      throw new Error(`Maven could not fetch ${artifact}: ${cause.message.split('\n').slice(0, 3).join(' ')}`, {
        cause,
      });
    });
  };
  return cachedFolder({ clock: systemClock }, { path, build }).then((folder) => join(folder, 'debezium-server'));
}

/**
 * Debezium Server needs a newer Java than Kafka: the first that is new enough, of JAVA_HOME, PATH
 * and the usual folder of Linux.
 */
async function newerJava(): Promise<string> {
  const home = process.env['JAVA_HOME'];
  const programs = [...(home ? [`${home}/bin/java`] : []), 'java', ...globSync('/usr/lib/jvm/*/bin/java')];
  for (const program of programs) {
    if (program !== 'java' && !existsSync(program)) continue;
    const said = await run(program, ['-version'], { timeout: 20_000 }).catch(() => ({ stdout: '', stderr: '' }));
    const major = Number(/version "(\d+)/.exec(said.stdout + said.stderr)?.[1] ?? 0);
    if (major >= oldestJava) return program;
  }
  throw new Error(`Debezium Server needs Java ${oldestJava} or newer: set JAVA_HOME to one`);
}

/**
 * With its defaults it asks its queue every 500 ms and answers after half a second;
 * `poll.interval.ms` is what matters most.
 */
function properties({ databaseUrl, brokers, table, topic }: DebeziumPlan, folder: string): string {
  const url = new URL(databaseUrl);
  const source: Record<string, string | number> = {
    'connector.class': 'io.debezium.connector.postgresql.PostgresConnector',
    'database.hostname': url.hostname,
    'database.port': url.port,
    'database.user': decodeURIComponent(url.username),
    'database.password': decodeURIComponent(url.password),
    'database.dbname': url.pathname.slice(1),
    'topic.prefix': 'bench',
    'plugin.name': 'pgoutput',
    'slot.name': 'bench_debezium',
    'publication.autocreate.mode': 'filtered',
    'table.include.list': table,
    'snapshot.mode': 'no_data',
    'offset.storage.file.filename': join(folder, 'offsets.dat'),
    'offset.flush.interval.ms': 1000,
    'poll.interval.ms': 2,
    'max.batch.size': 8192,
    'max.queue.size': 32_768,
  };
  const producer = {
    'bootstrap.servers': brokers.join(','),
    acks: 'all',
    'linger.ms': 0,
    'batch.size': 262_144,
    'key.serializer': 'org.apache.kafka.common.serialization.StringSerializer',
    'value.serializer': 'org.apache.kafka.common.serialization.StringSerializer',
  };
  const router = { type: 'io.debezium.transforms.outbox.EventRouter', 'route.topic.replacement': topic };
  const lines = {
    'debezium.sink.type': 'kafka',
    'debezium.format.key': 'simplestring',
    'debezium.format.value': 'simplestring',
    'debezium.transforms': 'outbox',
    'quarkus.log.level': 'WARN',
    'quarkus.log.console.json': false,
    'quarkus.http.port': 0,
    ...prefixed('debezium.source.', source),
    ...prefixed('debezium.sink.kafka.producer.', producer),
    ...prefixed('debezium.transforms.outbox.', router),
  };
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

function prefixed(prefix: string, values: Record<string, string | number>): Record<string, string | number> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]));
}

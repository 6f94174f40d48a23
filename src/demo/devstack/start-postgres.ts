import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { Client } from 'pg';
import type { Ambient } from '../../observability/ambient.ts';
import { ProgramError } from '../../runtime/program-error.ts';
import { dockerAnswers, loopbackContainer } from './docker.ts';
import { freePort } from './free-port.ts';
import { GuardedProcess } from './guarded-process.ts';
import { MissingPartError } from './missing-part-error.ts';
import {
  type PostgresCluster,
  type PostgresClusterOptions,
  preparePostgresCluster,
} from './prepare-postgres-cluster.ts';
import {
  awaitPostgres,
  type EmbeddedPostgres,
  postgresAnswers,
  postgresSettings,
  type RunningPostgres,
} from './running-postgres.ts';

const database = 'tidemark';

/**
 * Our own Postgres on a free port of the loopback address, stopped with us. 1.0 s from nothing to
 * answering.
 */
export async function startEmbeddedPostgres(
  deps: Pick<Ambient, 'clock' | 'log'>,
  options: PostgresClusterOptions,
): Promise<EmbeddedPostgres> {
  const cluster = await preparePostgresCluster(deps, options);
  let server = await startOnFreePort(deps, cluster);
  await createDatabase(urlOf(cluster, server.port, 'postgres'));
  return {
    kind: 'embedded',
    url: urlOf(cluster, server.port, database),
    describe: `Postgres ${cluster.binaries.version}, embedded, 127.0.0.1:${server.port}`,
    get pid() {
      return server.process.pid;
    },
    async restart() {
      await server.process.stop({ keepFolder: true });
      server = await startAgain(deps, cluster, server.port);
    },
    stop: () => server.process.stop(),
  };
}

interface Server {
  readonly process: GuardedProcess;
  readonly port: number;
}

async function startOnFreePort(deps: Pick<Ambient, 'clock' | 'log'>, cluster: PostgresCluster): Promise<Server> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startServer(deps, cluster, await freePort());
    } catch (error) {
      // Another program may have taken the port since it was found free; any other failure comes
      // again and is reported then.
      if (attempt === 3) {
        await rm(cluster.folder, { recursive: true, force: true });
        throw error;
      }
      deps.log.debug({ err: error }, 'embedded postgres did not start, trying another port');
    }
  }
}

/**
 * Sessions outlive a killed server for a moment, on a busy machine for seconds, and no new server
 * starts beside them.
 */
async function startAgain(
  deps: Pick<Ambient, 'clock' | 'log'>,
  cluster: PostgresCluster,
  port: number,
): Promise<Server> {
  const deadline = deps.clock.monotonicMs() + 30_000;
  for (;;) {
    try {
      return await startServer(deps, cluster, port);
    } catch (error) {
      const isStillInUse = error instanceof ProgramError && error.fix?.includes('is still in use') === true;
      if (!isStillInUse || deps.clock.monotonicMs() > deadline) throw error;
      deps.log.debug({ err: error }, 'sessions of the embedded postgres before are still there, trying again');
      await deps.clock.sleep(200);
    }
  }
}

async function startServer(
  deps: Pick<Ambient, 'clock' | 'log'>,
  cluster: PostgresCluster,
  port: number,
): Promise<Server> {
  const server = await GuardedProcess.start(deps, {
    name: 'embedded postgres',
    command: [
      cluster.binaries.postgres,
      ...['-D', cluster.data, '-p', String(port)],
      // No Unix socket: its path is limited to 107 bytes, and a temporary folder can exceed that.
      ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
      ...postgresSettings(cluster.fast),
    ],
    folder: cluster.folder,
    // Fast shutdown: sessions are cut, data is checkpointed.
    stopSignal: 'INT',
    patienceMs: 15_000,
    ...(cluster.user !== undefined && { user: cluster.user }),
    onLine: (line) => deps.log.debug({ line }, 'embedded postgres'),
  });
  const url = urlOf(cluster, port, 'postgres');
  const answer = await awaitPostgres(deps, { url, limitMs: 60_000, ended: server.exited });
  if (answer.answers) return { process: server, port };
  await server.stop({ keepFolder: true });
  throw server.fault(`did not answer: ${answer.error.message}`);
}

/** Idempotent: a kept data folder has it already. */
async function createDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 30_000 });
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [database]);
    if (rowCount === 0) await client.query(`create database ${database}`);
  } finally {
    await client.end();
  }
}

function urlOf(cluster: PostgresCluster, port: number, name: string): string {
  return `postgres://postgres:${cluster.password}@127.0.0.1:${port}/${name}`;
}

interface StartPostgresOptions extends Pick<Ambient, 'clock' | 'log'> {
  /** A given address wins, and is never replaced by something else when it does not answer. */
  readonly givenUrl?: string;
  /** Kept between runs; holds the parts that took long to fetch or build. */
  readonly cacheDir: string;
  /**
   * Embedded only: the data stays here after `stop`. Absent: a temporary folder, removed
   * afterwards.
   */
  readonly dataDir?: string;
  /** For tests: no fsync (see postgres-settings.ts). */
  readonly fast?: boolean;
}

/**
 * The real Postgres for demo, bench and tests: the given address, else a container if a Docker
 * engine answers, else an embedded one. Resolves when it answers. Throws `MissingPartError` with a
 * sentence that says how to fix it.
 */
export async function startPostgres(options: StartPostgresOptions): Promise<RunningPostgres> {
  if (options.givenUrl !== undefined) return givenPostgres(options.givenUrl);
  const { dataDir, fast = false } = options;
  // Data that is to stay needs our own folder, not a container's.
  if (dataDir === undefined && (await dockerAnswers(options))) {
    try {
      return await startPostgresContainer(options, { fast });
    } catch (error) {
      options.log.warn(
        { err: error },
        'a Docker engine answers, but its Postgres did not start: starting an embedded one instead',
      );
    }
  }
  return startEmbeddedPostgres(options, { fast, ...(dataDir !== undefined && { dataDir }) });
}

async function givenPostgres(url: string): Promise<RunningPostgres> {
  const where = URL.canParse(url) ? new URL(url).host : 'an address that is no URL';
  const answer = await postgresAnswers(url, 5_000);
  if (!answer.answers) {
    const sentence = `DATABASE_URL names a Postgres at ${where} that does not answer (${answer.error.message}): start it, or unset DATABASE_URL.`;
    throw new MissingPartError('postgres', sentence, { cause: answer.error });
  }
  return { kind: 'given', url, describe: `Postgres ${answer.version}, given, ${where}`, stop: () => Promise.resolve() };
}

export const postgresImage = 'postgres:18';
const port = 5432;

/**
 * A Postgres in a container, on a free port of the loopback address. testcontainers' own watcher
 * removes it when we are killed.
 */
async function startPostgresContainer(
  deps: Pick<Ambient, 'clock' | 'log'>,
  options: { readonly fast: boolean },
): Promise<RunningPostgres> {
  const password = randomBytes(18).toString('base64url');
  const { Wait } = await import('testcontainers');
  const { container: description, host } = await loopbackContainer(postgresImage);
  const container = await description
    .withEnvironment({ POSTGRES_PASSWORD: password, POSTGRES_DB: 'tidemark' })
    .withCommand(['postgres', ...postgresSettings(options.fast)])
    .withExposedPorts(port)
    // The default of 64 MB is too small for a parallel query over a few million rows.
    .withSharedMemorySize(512 * 1024 * 1024)
    // Once during the image's own setup, without a TCP port, and once for good.
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .withStartupTimeout(120_000)
    .start();
  const address = `${host}:${container.getMappedPort(port)}`;
  const url = `postgres://postgres:${password}@${address}/tidemark`;
  const answer = await awaitPostgres(deps, { url, limitMs: 30_000, ended: new Promise(() => undefined) });
  if (!answer.answers) {
    await container.stop();
    throw answer.error;
  }
  let stopping: Promise<unknown> | undefined;
  return {
    kind: 'container',
    url,
    describe: `Postgres ${answer.version}, container ${container.getId().slice(0, 12)} of ${postgresImage}, ${address}`,
    async stop() {
      stopping ??= container.stop();
      await stopping;
    },
  };
}

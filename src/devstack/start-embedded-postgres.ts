import { rm } from 'node:fs/promises';
import { Client } from 'pg';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import { freePort } from './free-port.ts';
import { GuardedProcess } from './guarded-process.ts';
import { type PostgresCluster, type PostgresClusterOptions, preparePostgresCluster } from './prepare-postgres-cluster.ts';
import type { EmbeddedPostgres } from './running-postgres.ts';
import { awaitPostgres, postgresSettings } from './running-postgres.ts';

const database = 'tidemark';

/** A Postgres of our own on a free port of the loopback address, stopped with us. 1.0 s from nothing to answering. */
export async function startEmbeddedPostgres(
  deps: { readonly clock: Clock; readonly log: Log },
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

async function startOnFreePort(deps: { clock: Clock; log: Log }, cluster: PostgresCluster): Promise<Server> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startServer(deps, cluster, await freePort());
    } catch (error) {
      // Somebody may have taken the port since it was found free; anything else fails again and is told then.
      if (attempt === 3) {
        await rm(cluster.folder, { recursive: true, force: true });
        throw error;
      }
      deps.log.debug({ err: error }, 'embedded postgres did not start, trying another port');
    }
  }
}

/** Sessions outlive a server that was killed for a moment, on a busy machine for seconds, and no new one starts beside them. */
async function startAgain(deps: { clock: Clock; log: Log }, cluster: PostgresCluster, port: number): Promise<Server> {
  const deadline = deps.clock.monotonicMs() + 30_000;
  for (;;) {
    try {
      return await startServer(deps, cluster, port);
    } catch (error) {
      if (!String(error).includes('is still in use') || deps.clock.monotonicMs() > deadline) throw error;
      deps.log.debug({ err: error }, 'sessions of the embedded postgres before are still there, trying again');
      await deps.clock.sleep(200);
    }
  }
}

async function startServer(deps: { clock: Clock; log: Log }, cluster: PostgresCluster, port: number): Promise<Server> {
  const lastLines: string[] = [];
  const server = await GuardedProcess.start(deps, {
    name: 'embedded postgres',
    command: [
      cluster.binaries.postgres,
      ...['-D', cluster.data, '-p', String(port)],
      // No Unix socket: its path is limited to 107 bytes, which a temporary folder can exceed.
      ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
      ...postgresSettings(cluster.fast),
    ],
    folder: cluster.folder,
    // Fast shutdown: sessions are cut, data is checkpointed.
    stopSignal: 'INT',
    patienceMs: 15_000,
    ...(cluster.user === undefined ? {} : { user: cluster.user }),
    onLine: (line) => {
      deps.log.debug({ line }, 'embedded postgres');
      lastLines.push(line);
      if (lastLines.length > 20) lastLines.shift();
    },
  });
  const url = urlOf(cluster, port, 'postgres');
  const answer = await awaitPostgres(deps, { url, limitMs: 60_000, ended: server.exited });
  if (answer.answers) return { process: server, port };
  await server.stop({ keepFolder: true });
  throw new Error(`embedded postgres did not answer: ${answer.error.message}\n${lastLines.join('\n')}`);
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

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import { freePort } from './free-port.ts';
import { GuardedProcess } from './guarded-process.ts';
import { awaitPostgres } from './postgres-answers.ts';
import { type PostgresBinaries, postgresBinaries } from './postgres-binaries.ts';
import { postgresSettings } from './postgres-settings.ts';
import type { EmbeddedPostgres } from './running-postgres.ts';
import { type UnprivilegedUser, unprivilegedUser } from './unprivileged-user.ts';

const run = promisify(execFile);
const database = 'tidemark';

export interface EmbeddedPostgresOptions {
  /** Where the data stays after `stop`; a data folder found there is used. As root: reachable for user postgres or nobody. Absent: a temporary folder, removed afterwards. */
  readonly dataDir?: string;
  /** For tests: no fsync (see postgres-settings.ts). */
  readonly fast: boolean;
}

interface Cluster {
  readonly binaries: PostgresBinaries;
  readonly user: UnprivilegedUser | undefined;
  /** Of this process alone: the guard removes it. */
  readonly folder: string;
  readonly data: string;
  readonly password: string;
  readonly fast: boolean;
}

/** A Postgres of our own on a free port of the loopback address, stopped with us. 1.0 s from nothing to answering. */
export async function startEmbeddedPostgres(
  deps: { readonly clock: Clock; readonly log: Log },
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const cluster = await prepare(options);
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
      server = await startServer(deps, cluster, server.port);
    },
    stop: () => server.process.stop(),
  };
}

async function prepare(options: EmbeddedPostgresOptions): Promise<Cluster> {
  const user = unprivilegedUser();
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-postgres-'));
  try {
    const binaries = await postgresBinaries({ user, spareFolder: folder });
    const home = options.dataDir ?? folder;
    await mkdir(home, { recursive: true, mode: 0o700 });
    if (user !== undefined) await Promise.all([folder, home].map((path) => chown(path, user.uid, user.gid)));
    const cluster = { binaries, user, folder, data: join(home, 'data'), fast: options.fast };
    const passwordFile = join(home, 'password');
    if (existsSync(join(cluster.data, 'PG_VERSION'))) return { ...cluster, password: await readFile(passwordFile, 'utf8') };
    const password = randomBytes(18).toString('base64url');
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (user !== undefined) await chown(passwordFile, user.uid, user.gid);
    await initialise(cluster, passwordFile, options.dataDir !== undefined);
    return { ...cluster, password };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** 0.6 s. A folder kept as a template and copied takes 0.2 s: not worth a cache that can be stale. */
async function initialise(cluster: Omit<Cluster, 'password'>, passwordFile: string, sync: boolean): Promise<void> {
  const { user } = cluster;
  await run(
    cluster.binaries.initdb,
    ['-D', cluster.data, '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--encoding=UTF8', '--no-locale']
      // The data of a temporary folder need not survive a crash of the machine.
      .concat(sync ? [] : ['--no-sync']),
    { ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }), cwd: '/', timeout: 120_000 },
  );
}

interface Server {
  readonly process: GuardedProcess;
  readonly port: number;
}

async function startOnFreePort(deps: { clock: Clock; log: Log }, cluster: Cluster): Promise<Server> {
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

async function startServer(deps: { clock: Clock; log: Log }, cluster: Cluster, port: number): Promise<Server> {
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

function urlOf(cluster: Cluster, port: number, name: string): string {
  return `postgres://postgres:${cluster.password}@127.0.0.1:${port}/${name}`;
}

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../runtime/clock.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { GuardedProcess } from './guarded-process.ts';
import { type PostgresBinaries, postgresBinaries, type UnprivilegedUser, unprivilegedUser } from './postgres-binaries.ts';

export interface PostgresClusterOptions {
  /**
   * Where the data stays after `stop`; a data folder found there is used. When we are root, the user postgres (or nobody) has to get
   * there. Absent: a temporary folder, removed afterwards.
   */
  readonly dataDir?: string;
  /** For tests: no fsync (see postgres-settings.ts). */
  readonly fast: boolean;
}

/** A data folder that a server can be started on, and its settings. */
export interface PostgresCluster {
  readonly binaries: PostgresBinaries;
  readonly user: UnprivilegedUser | undefined;
  /** Of this process alone: the guard removes it. */
  readonly folder: string;
  readonly data: string;
  readonly password: string;
  readonly fast: boolean;
}

/** Finds the binaries and makes the data folder, unless there is one. Throws `MissingPartError` where Postgres is not installed. */
export async function preparePostgresCluster(
  deps: { readonly clock: Clock },
  options: PostgresClusterOptions,
): Promise<PostgresCluster> {
  const user = unprivilegedUser();
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-postgres-'));
  try {
    const home = options.dataDir ?? folder;
    await mkdir(home, { recursive: true, mode: 0o700 });
    if (user !== undefined) await Promise.all([folder, home].map((path) => chown(path, user.uid, user.gid)));
    const binaries = await postgresBinaries({ user, spareFolder: folder });
    const cluster = { binaries, user, folder, data: join(home, 'data'), fast: options.fast, password: '' };
    const passwordFile = join(home, 'password');
    if (existsSync(join(cluster.data, 'PG_VERSION'))) return { ...cluster, password: await readFile(passwordFile, 'utf8') };
    const password = randomBytes(18).toString('base64url');
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (user !== undefined) await chown(passwordFile, user.uid, user.gid);
    await initialise(deps, cluster, passwordFile, options.dataDir !== undefined);
    return { ...cluster, password };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** 0.6 s. A folder kept as a template and copied takes 0.2 s: not worth a cache that can be stale. Guarded, as we may be killed meanwhile. */
async function initialise(
  deps: { readonly clock: Clock },
  cluster: PostgresCluster,
  passwordFile: string,
  sync: boolean,
): Promise<void> {
  const lines: string[] = [];
  const initdb = await GuardedProcess.start(deps, {
    name: 'initdb',
    command: [
      ...([cluster.binaries.initdb, '-D', cluster.data, '-U', 'postgres', '--encoding=UTF8', '--no-locale'] as const),
      ...['--auth=scram-sha-256', `--pwfile=${passwordFile}`],
      // The data of a temporary folder need not survive a crash of the machine.
      ...(sync ? [] : ['--no-sync']),
    ],
    folder: cluster.folder,
    stopSignal: 'TERM',
    patienceMs: 5_000,
    ...(cluster.user === undefined ? {} : { user: cluster.user }),
    onLine: (line) => lines.push(line),
  });
  const code = await withDeadline(deps.clock, 120_000, 'initdb', initdb.exited).catch((error: Error) => error.message);
  await initdb.stop({ keepFolder: true });
  if (code !== 0) throw new Error(`initdb failed (${code}):\n${lines.slice(-10).join('\n')}`);
}

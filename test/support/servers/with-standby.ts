import { execFile } from 'node:child_process';
import { appendFile, chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '../../../src/demo/devstack/start-postgres.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { proxiedUrl } from '../orders/store-rig.ts';
import { eventually } from '../runs/poll.ts';
import { silentLog } from '../runs/silent-log.ts';
import { onServer } from './on-server.ts';
import { TcpProxy } from './tcp-proxy.ts';

const quiet = { clock: systemClock, log: silentLog };
const run = promisify(execFile);

/**
 * A migrated primary and a real standby that streams from it, behind one address, as a managed
 * service has them. The standby is a copy of the primary's folder, made while it was stopped: the
 * packaged binaries have no `pg_basebackup`.
 */
export async function withStandby() {
  const stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-failover-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  // The server may run as a user of its own, who has to get in.
  await chmod(folder, 0o755);
  const homes = { primary: join(folder, 'primary'), standby: join(folder, 'standby') };
  const first = await startEmbeddedPostgres(quiet, { fast: true, dataDir: homes.primary });
  await migrate({ url: first.url, ...quiet });
  await first.stop();
  // With owners and modes: the server refuses a folder of another user.
  await run('cp', ['-a', homes.primary, homes.standby]);
  const primary = await startEmbeddedPostgres(quiet, { fast: true, dataDir: homes.primary });
  stack.defer(() => primary.stop());
  const { port, password } = new URL(primary.url);
  const from = `host=127.0.0.1 port=${port} user=postgres password=${decodeURIComponent(password)}`;
  await appendFile(join(homes.standby, 'data', 'postgresql.auto.conf'), `primary_conninfo = '${from}'\n`);
  await writeFile(join(homes.standby, 'data', 'standby.signal'), '');
  const standby = await startEmbeddedPostgres(quiet, { fast: true, dataDir: homes.standby });
  stack.defer(() => standby.stop());
  const proxy = stack.use(await TcpProxy.start({ targetPort: Number(port) }));

  return {
    proxy,
    primaryUrl: primary.url,
    standbyUrl: standby.url,
    /** The address of the database: leads to the primary until `leadTo`. */
    url: proxiedUrl(primary.url, proxy),
    /**
     * Connections that come go there; those that are open stay, as
     * behind a virtual address or a name in DNS.
     */
    leadTo: (url: string) => proxy.retarget(Number(new URL(url).port)),
    /**
     * The primary goes on running and takes no writes, as after a managed failover: sessions stay,
     * each write is answered with 25006.
     */
    demote: () => setReadOnly(primary.url, true),
    undoDemote: () => setReadOnly(primary.url, false),
    /** Until the standby has all that the primary has. */
    caughtUp: () =>
      eventually(async () => {
        const { rows } = await onServer(primary.url, (client) =>
          client.query('select pg_current_wal_lsn() = replay_lsn as even from pg_stat_replication'),
        );
        if (rows[0]?.even !== true) throw new Error('the standby is behind');
      }),
    /** What is committed from now on never reaches the standby. */
    stopReplication: () =>
      onServer(standby.url, async (client) => {
        await client.query(`alter system set primary_conninfo = ''`);
        await client.query('select pg_reload_conf()');
        await eventually(async () => {
          const { rows } = await client.query('select 1 from pg_stat_wal_receiver');
          if (rows.length > 0) throw new Error('the standby still receives');
        });
      }),
    promote: () => onServer(standby.url, (client) => client.query('select pg_promote(true, 60)')),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function setReadOnly(url: string, on: boolean): Promise<void> {
  await onServer(url, async (client) => {
    await client.query(`alter system set default_transaction_read_only = ${on ? 'on' : 'off'}`);
    await client.query('select pg_reload_conf()');
  });
}

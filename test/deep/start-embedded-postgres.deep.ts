import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import type { PostgresClusterOptions } from '../../src/demo/devstack/prepare-postgres-cluster.ts';
import { startEmbeddedPostgres } from '../../src/demo/devstack/start-postgres.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { eventually } from '../support/runs/poll.ts';
import { testLog } from '../support/runs/test-log.ts';
import { forgetHeld, holdDevstack } from '../support/servers/held-devstack.ts';
import { onServer } from '../support/servers/on-server.ts';
import { commandLinesWith, lives } from '../support/servers/processes.ts';

const deps = { clock: systemClock, log: testLog };

describe('the embedded Postgres', () => {
  const start = (options: Partial<PostgresClusterOptions> = {}) =>
    startEmbeddedPostgres(deps, { fast: false, ...options });
  const setting = (url: string, name: string) =>
    onServer(url, async (client) => (await client.query(`show ${name}`)).rows[0]?.[name] as string);

  it('answers on the loopback address with full durability, and is gone after stop', async () => {
    const postgres = await start();
    expect(await setting(postgres.url, 'listen_addresses')).toBe('127.0.0.1');
    expect(await setting(postgres.url, 'fsync')).toBe('on');
    expect(await setting(postgres.url, 'synchronous_commit')).toBe('on');
    expect(postgres.describe).toMatch(/^Postgres 18\.\d+, embedded, 127\.0\.0\.1:\d+$/);
    await postgres.stop();
    expect(lives(postgres.pid)).toBe(false);
  });

  it('keeps every committed row over a kill -9, also when it is fast', async () => {
    const postgres = await start({ fast: true });
    await onServer(postgres.url, (client) => client.query('create table kept as select generate_series(1, 1000) as n'));
    const before = postgres.pid;
    process.kill(before, 'SIGKILL');
    await postgres.restart();
    expect(postgres.pid).not.toBe(before);
    const { rows } = await onServer(postgres.url, (client) => client.query('select count(*)::int as n from kept'));
    expect(rows).toEqual([{ n: 1000 }]);
    await postgres.stop();
  });

  it('starts again once the last session of a server that was killed is gone', async () => {
    const postgres = await start({ fast: true });
    const session = new Client({ connectionString: postgres.url });
    session.on('error', () => {});
    await session.connect();
    const backend: number = (await session.query('select pg_backend_pid() as pid')).rows[0].pid;
    process.kill(backend, 'SIGSTOP');
    process.kill(postgres.pid, 'SIGKILL');
    const restarted = postgres.restart();
    await systemClock.sleep(1_500);
    process.kill(backend, 'SIGCONT');
    await restarted;
    expect(await setting(postgres.url, 'listen_addresses')).toBe('127.0.0.1');
    await session.end().catch(() => {});
    await postgres.stop();
  });

  it('uses a data folder again that it was given', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'tidemark-data-'));
    chmodSync(parent, 0o755);
    const dataDir = join(parent, 'kept');
    try {
      const first = await start({ dataDir });
      await onServer(first.url, (client) => client.query('create table mark (n int)'));
      await first.stop();
      const second = await start({ dataDir });
      expect((await onServer(second.url, (client) => client.query('select n from mark'))).rows).toEqual([]);
      await second.stop();
      expect(existsSync(join(dataDir, 'data', 'PG_VERSION'))).toBe(true);
    } finally {
      rmSync(parent, { recursive: true, force: true });
    }
  });

  it('leaves no process and no folder when its parent is killed with -9', async () => {
    const held = await holdDevstack('postgres', '');
    expect(held.pids.filter(lives)).toEqual(held.pids);
    held.process.kill('SIGKILL');
    await eventually(() => expect([held.pids.filter(lives), readdirSync(held.folder)]).toEqual([[], []]));
    await eventually(() => expect(commandLinesWith(held.folder)).toEqual([]));
    forgetHeld(held);
  });
});

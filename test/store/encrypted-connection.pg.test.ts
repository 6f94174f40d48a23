import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { checkTransport } from '../../src/cli/doctor/check-database.ts';
import { unprivilegedUser } from '../../src/demo/devstack/prepare-postgres-cluster.ts';
import type { EmbeddedPostgres } from '../../src/demo/devstack/running-postgres.ts';
import { startEmbeddedPostgres } from '../../src/demo/devstack/start-postgres.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { eventually } from '../support/runs/poll.ts';
import { silentLog } from '../support/runs/silent-log.ts';
import { CertificateAuthority } from '../support/servers/certificates.ts';
import { onServer } from '../support/servers/on-server.ts';

let folder: string;
let postgres: EmbeddedPostgres;
let authority: CertificateAuthority;

beforeAll(async () => {
  folder = mkdtempSync('/tmp/tidemark-tls-');
  authority = new CertificateAuthority(folder);
  const { key, cert } = authority.sign('postgres');
  const user = unprivilegedUser();
  if (user !== undefined) for (const path of [folder, key, cert]) chownSync(path, user.uid, user.gid);
  postgres = await startEmbeddedPostgres({ clock: systemClock, log: silentLog }, { fast: true });
  await onServer(postgres.url, async (client) => {
    await client.query(`alter system set ssl_cert_file = '${cert}'`);
    await client.query(`alter system set ssl_key_file = '${key}'`);
    await client.query(`alter system set ssl = 'on'`);
    await client.query('select pg_reload_conf()');
  });
  await eventually(async () => expect((await ask(verified(authority))).encrypted).toBe(true));
});
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function verified({ cert }: CertificateAuthority): string {
  return `${postgres.url}?sslmode=verify-full&sslrootcert=${cert}`;
}

function poolOf(url: string) {
  const pool = createPool({ log: silentLog }, { url, applicationName: 'tidemark-test', maxConnections: 1 });
  return { pool, [Symbol.asyncDispose]: () => pool.end() };
}

async function ask(url: string): Promise<{ encrypted: boolean }> {
  await using held = poolOf(url);
  const { rows } = await held.pool.query('select ssl as encrypted from pg_stat_ssl where pid = pg_backend_pid()');
  return rows[0];
}

describe('the connection to Postgres', () => {
  it('is encrypted where the address says so, and doctor says that it is', async () => {
    await using held = poolOf(verified(authority));
    expect(await checkTransport(held.pool)).toMatchObject([{ verdict: 'ok' }]);
  });

  it('is not made to a server that another authority vouches for', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'tidemark-tls-other-'));
    onTestFinished(() => rmSync(elsewhere, { recursive: true }));
    await expect(ask(verified(new CertificateAuthority(elsewhere)))).rejects.toThrow(/certificate/);
  });

  it('may be plain within the machine, of which doctor says nothing', async () => {
    expect(await ask(postgres.url)).toEqual({ encrypted: false });
    await using held = poolOf(postgres.url);
    expect(await checkTransport(held.pool)).toEqual([]);
  });

  it('is warned about where it is plain and leaves the machine', async () => {
    const query = () => Promise.resolve({ rows: [{ encrypted: false, local: false }] });
    expect(await checkTransport({ query } as never)).toMatchObject([
      { verdict: 'warn', fix: expect.stringContaining('sslmode=verify-full') },
    ]);
  });
});

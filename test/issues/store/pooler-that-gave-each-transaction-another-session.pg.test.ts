// What a user saw: The service started behind a pooler in transaction mode, where its locks do not hold.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkDatabase } from '../../../src/cli/doctor/check-database.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { SchemaGate } from '../../../src/service/run/schema-gate.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { findPoolFault, pooledRefusalFix } from '../../../src/store/session/session-fault.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { freshDatabase, type TestDatabase } from '../../support/servers/database.ts';
import { onServer } from '../../support/servers/on-server.ts';
import { TransactionPooler } from '../../support/servers/transaction-pooler.ts';

const poolOf = (url: string) => createPool({ log: silentLog }, { url, applicationName: 'test', maxConnections: 2 });

async function findingsAt(url: string) {
  const loaded = loadConfig({ DATABASE_URL: url }, () => '');
  if (!loaded.ok) throw new Error('the settings of the test are wrong');
  return checkDatabase(loaded.config, silentLog, systemClock);
}

let database: TestDatabase;

beforeEach(async () => {
  database = await freshDatabase();
});

afterEach(() => database.drop());

describe('behind a pooler in transaction mode', () => {
  let pooler: TransactionPooler;
  let url: string;

  beforeEach(async () => {
    pooler = await TransactionPooler.start(database.url);
    const address = new URL(database.url);
    address.host = `127.0.0.1:${pooler.port}`;
    url = address.href;
  });

  afterEach(() => pooler[Symbol.asyncDispose]());

  it('the start is refused with 78, and says what is seen and what to do', async () => {
    const pool = poolOf(url);
    try {
      await expect(new SchemaGate({ pool, log: silentLog }).start()).rejects.toMatchObject({
        ...{ code: 'SESSIONS', exitCode: 78 },
        message: expect.stringContaining('a pooler in transaction or statement mode is in between'),
        fix: expect.stringContaining('pool_mode = session'),
      });
    } finally {
      await pool.end();
    }
  });

  it('doctor fails', async () => {
    expect(await findingsAt(url)).toContainEqual({
      ...{ part: 'sessions', verdict: 'fail' },
      detail: expect.stringContaining('a pooler in transaction or statement mode is in between'),
      fix: expect.stringContaining('pool_mode = session'),
    });
  });

  it('migrate is refused before it changes anything', async () => {
    const migrating = migrate({ url, log: silentLog, clock: systemClock });
    await expect(migrating).rejects.toMatchObject({
      code: 'SESSIONS',
      fix: expect.stringContaining('pool_mode = session'),
    });
  });
});

it('a service that began while the database was away does not get ready behind such a pooler either', async () => {
  await using pooler = await TransactionPooler.start(database.url);
  const address = new URL(database.url);
  address.host = `127.0.0.1:${pooler.port}`;
  const pool = poolOf(address.href);
  try {
    const gate = new SchemaGate({ pool, log: silentLog });
    await expect(gate.assertFits()).rejects.toMatchObject({ code: 'SESSIONS' });
    await expect(gate.check()).rejects.toMatchObject({ code: 'SESSIONS' });
  } finally {
    await pool.end();
  }
});

it('with Postgres itself sessions are whole: no finding, and no lock stays', async () => {
  const pool = poolOf(database.url);
  try {
    expect(await findPoolFault(pool)).toBeUndefined();
    const locks = `select from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = $1)`;
    expect((await onServer(database.url, (client) => client.query(locks, [database.name]))).rowCount).toBe(0);
  } finally {
    await pool.end();
  }
  expect((await findingsAt(database.url)).filter(({ part }) => part === 'sessions')).toEqual([]);
});

// As on CockroachDB: each function is there, and says that it holds.
it.each([
  ['of the session', 'pg_advisory_lock'],
  ['of the transaction', 'pg_advisory_xact_lock'],
])('a server whose locks %s exclude nobody is refused', async (_, name) => {
  const pool = poolOf(database.url);
  pool.on('connect', (session) => {
    const ask = session.query.bind(session) as (text: string, ...rest: unknown[]) => Promise<unknown>;
    Object.assign(session, {
      query: (text: string, ...rest: unknown[]) =>
        ask(text === 'commit' ? text : text.replace(`select ${name}(`, 'select num_nulls('), ...rest),
    });
  });
  try {
    expect(await findPoolFault(pool)).toMatchObject({ kind: 'stub_locks' });
  } finally {
    await pool.end();
  }
});

it('a pooler that refuses the startup parameters is named, with what to set', () => {
  const refusal = Object.assign(new Error('unsupported startup parameter: options'), {
    code: '08P01',
    severity: 'FATAL',
  });
  expect(pooledRefusalFix(refusal)).toMatch(/ignore_startup_parameters/);
  expect(
    pooledRefusalFix(Object.assign(new Error('invalid message'), { code: '08P01', severity: 'FATAL' })),
  ).toBeUndefined();
});

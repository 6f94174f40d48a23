// What a user saw: In a database with another encoding, orders with some letters went into quarantine.

import { randomBytes } from 'node:crypto';
import { describe, expect, inject, it } from 'vitest';
import { checkDatabase } from '../../../src/cli/doctor/check-database.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { SchemaGate } from '../../../src/service/run/schema-gate.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { freshDatabase } from '../../support/servers/database.ts';
import { onServer, withDatabase } from '../../support/servers/on-server.ts';

async function findings(url: string) {
  const loaded = loadConfig({ DATABASE_URL: url }, () => '');
  if (!loaded.ok) throw new Error('the settings of the test are wrong');
  return checkDatabase(loaded.config, silentLog, systemClock);
}

/** What the start of the service says. */
async function startOn(url: string): Promise<unknown> {
  const pool = createPool({ log: silentLog }, { url, applicationName: 'test', maxConnections: 2 });
  try {
    return await new SchemaGate({ pool, log: silentLog }).start().catch((error: unknown) => error);
  } finally {
    await pool.end();
  }
}

/** A database made with these words, dropped with the test. */
async function databaseWith(words: string) {
  const name = `t_${randomBytes(8).toString('hex')}`;
  const server = inject('postgresUrl');
  await onServer(server, (client) => client.query(`create database ${name} template template0 ${words}`));
  return {
    name,
    url: withDatabase(server, name),
    async [Symbol.asyncDispose]() {
      await onServer(server, (client) => client.query(`drop database ${name} with (force)`));
    },
  };
}

describe.each(['LATIN1', 'SQL_ASCII', 'EUC_JP'])('a database with the encoding %s', (encoding) => {
  it('is refused before anything is made in it, at the start and by doctor, with what to do', async () => {
    await using database = await databaseWith(`encoding '${encoding}' locale 'C'`);
    const { url } = database;
    const message = expect.stringContaining(`the encoding of the database is ${encoding}, and UTF8 is expected`);
    const fix = expect.stringContaining("template template0 encoding 'UTF8' locale 'C'");
    await expect(migrate({ url, log: silentLog, clock: systemClock })).rejects.toMatchObject({
      ...{ code: 'SESSIONS', message, fix },
    });
    const { rows } = await onServer(url, (client) =>
      client.query("select from pg_class where relnamespace = 'public'::regnamespace"),
    );
    expect(rows).toEqual([]);
    expect(await startOn(url)).toMatchObject({ code: 'SESSIONS', exitCode: 78, message, fix });
    expect(await findings(url)).toContainEqual({ part: 'sessions', verdict: 'fail', detail: message, fix });
  });
});

it('a login for which no trigger fires is refused: nothing would guard the journal', async () => {
  await using database = await freshDatabase();
  await onServer(database.url, (client) =>
    client.query(`alter database ${database.name} set session_replication_role to replica`),
  );
  const message = expect.stringContaining('session_replication_role is replica for this login, and origin is expected');
  expect(await startOn(database.url)).toMatchObject({ code: 'SESSIONS', exitCode: 78, message });
  expect(await findings(database.url)).toContainEqual(
    expect.objectContaining({ part: 'sessions', verdict: 'fail', detail: message }),
  );
});

it('doctor names indexes that were made in another sort order', async () => {
  await using database = await databaseWith(`encoding 'UTF8' locale_provider icu icu_locale 'de-DE' locale 'C'`);
  await migrate({ url: database.url, log: silentLog, clock: systemClock });
  const collation = async () => (await findings(database.url)).filter(({ part }) => part === 'collation');
  expect(await collation()).toEqual([]);
  // As in a base backup that an older system wrote.
  await onServer(database.url, (client) =>
    client.query('update pg_database set datcollversion = $2 where datname = $1', [database.name, '1.2.3']),
  );
  expect(await collation()).toEqual([
    {
      ...{ part: 'collation', verdict: 'fail' },
      detail: expect.stringMatching(/with version 1\.2\.3 of the system's sort order, and this server has [\d.]+:/),
      fix: expect.stringContaining(`reindex database ${database.name}`),
    },
  ]);
  await onServer(database.url, (client) => client.query(`alter database ${database.name} refresh collation version`));
  expect(await collation()).toEqual([]);
});

it('doctor warns where nothing removes dead rows', async () => {
  await using database = await freshDatabase();
  const upkeep = async () => (await findings(database.url)).filter(({ part }) => part === 'upkeep');
  expect(await upkeep()).toEqual([]);
  await onServer(database.url, (client) => client.query(`alter database ${database.name} set track_counts to off`));
  expect(await upkeep()).toEqual([
    expect.objectContaining({ verdict: 'warn', detail: expect.stringMatching(/^track_counts = off: nothing removes/) }),
  ]);
});

// What a user saw: After five minutes the migration of a large journal ended, and nothing was changed.

import { expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { readMigrations } from '../../../src/store/migrations.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { emptyDatabase } from '../../support/servers/database.ts';
import { onServer } from '../../support/servers/on-server.ts';

const limits = `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
  current_setting('client_connection_check_interval') as client`;
const ofCopies = { statement: '12h', lock: '5s', client: '5s' };

/** A build whose next migration notes its limits, in a statement and in a check. */
const copying = (statements: readonly string[]) => ({
  tag: '9000_copying',
  when: 9_000_000_000_000,
  hash: 'copying',
  statements,
});

it('a statement of a migration has hours, waits for no lock longer than before, and ends with its process', async () => {
  await using database = await emptyDatabase();
  const options = { url: database.url, log: testLog, clock: systemClock };
  const migrations = [...(await readMigrations()), copying([`create table seen as ${limits}`])];
  expect((await migrate({ ...options, migrations })).applied).toContain('9000_copying');
  const { rows } = await onServer(database.url, (client) => client.query('select * from seen'));
  expect(rows).toEqual([ofCopies]);
});

it('the check of a constraint over all rows has hours too', async () => {
  await using database = await emptyDatabase();
  const options = { url: database.url, log: testLog, clock: systemClock };
  const notes = `create function noted() returns boolean language plpgsql as $$ begin insert into seen ${limits}; return true; end $$`;
  const migrations = [
    ...(await readMigrations()),
    copying([
      `create table seen as ${limits} limit 0`,
      notes,
      'create table large as select 1 as n',
      'alter table large add constraint noted check (noted()) not valid',
    ]),
  ];
  await migrate({ ...options, migrations });
  const { rows } = await onServer(database.url, (client) => client.query('select * from seen'));
  expect(rows).toEqual([ofCopies]);
});

it('a statement that fails leaves its own words', async () => {
  await using database = await emptyDatabase();
  const options = { url: database.url, log: testLog, clock: systemClock };
  const migrations = [...(await readMigrations()), copying(['select 1 / 0'])];
  await expect(migrate({ ...options, migrations })).rejects.toMatchObject({ code: '22012' });
  expect((await migrate({ ...options })).applied).toEqual([]);
});

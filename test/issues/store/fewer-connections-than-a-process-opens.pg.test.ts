// What a user saw: Doctor was content with a login that may open five sessions, of which a process opens 35.

import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { checkDatabase } from '../../../src/cli/doctor/check-database.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { freshDatabase, type TestDatabase } from '../../support/servers/database.ts';
import { onServer } from '../../support/servers/on-server.ts';

/** A login of the service, and its address. */
async function loginOf({ url, name }: TestDatabase, limit: number): Promise<string> {
  const login = `service_${randomBytes(4).toString('hex')}`;
  await onServer(url, (client) =>
    client.query(`create role ${login} login password 'pw' connection limit ${limit} in role tidemark_app`),
  );
  onTestFinished(() =>
    onServer(url.replace(`/${name}`, '/postgres'), async (client) => void (await client.query(`drop role ${login}`))),
  );
  const address = new URL(url);
  address.username = login;
  address.password = 'pw';
  return address.href;
}

async function connections(url: string, poolSize = 10) {
  const loaded = loadConfig({ DATABASE_URL: url, TIDEMARK_DATABASE_POOL_SIZE: String(poolSize) }, () => '');
  if (!loaded.ok) throw new Error('the settings of the test are wrong');
  return (await checkDatabase(loaded.config, silentLog)).filter(({ part }) => part === 'connections');
}

it('doctor names the limit that leaves too few sessions, and what a process opens', async () => {
  await using database = await freshDatabase();
  const url = await loginOf(database, 20);
  expect(await connections(url)).toEqual([
    {
      ...{ part: 'connections', verdict: 'warn' },
      detail: expect.stringMatching(
        /^the CONNECTION LIMIT of service_\w+ leaves 20 sessions for a process that may open 35: under load it would wait/,
      ),
      fix: expect.stringContaining('TIDEMARK_DATABASE_POOL_SIZE'),
    },
  ]);
  expect(await connections(url, 2)).toEqual([]);

  // What a process of ours has open is what it needs, and what others have is not there for it.
  const open = async (applicationName: string) => {
    const pool = createPool({ log: silentLog }, { url, applicationName, maxConnections: 3, server: 'any' });
    await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0.1)')));
    return pool;
  };
  const ours = await open('tidemark-reads');
  expect(await connections(url, 2)).toEqual([]);
  const others = await open('reports');
  expect(await connections(url, 2)).toEqual([
    expect.objectContaining({ detail: expect.stringContaining('leaves 17 sessions for a process that may open 19') }),
  ]);
  await ours.end();
  await others.end();
});

it('doctor names the limit of the database too', async () => {
  await using database = await freshDatabase();
  const url = await loginOf(database, -1);
  await onServer(database.url, (client) => client.query(`alter database ${database.name} connection limit 12`));
  expect(await connections(url, 2)).toEqual([
    expect.objectContaining({
      detail: expect.stringMatching(/^the CONNECTION LIMIT of database t_\w+ leaves 12 sess/),
    }),
  ]);
});

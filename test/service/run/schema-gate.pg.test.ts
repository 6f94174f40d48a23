import pino from 'pino';
import { expect, it } from 'vitest';
import { SchemaGate } from '../../../src/service/run/schema-gate.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { freshDatabase } from '../../support/servers/database.ts';
import { onServer } from '../../support/servers/on-server.ts';

it('a database that refuses the login is not told as one that does not answer, and the log has its own reason', async () => {
  await using database = await freshDatabase();
  const login = `stranger_${database.name}`;
  await onServer(database.url, (client) => client.query(`create role ${login} login password 'right'`));
  const url = new URL(database.url);
  url.username = login;
  url.password = 'right';
  const pool = createPool({ log: silentLog }, { url: url.href, applicationName: 'test', maxConnections: 2 });
  const lines: Record<string, unknown>[] = [];
  try {
    const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) });
    await new SchemaGate({ pool, log }).start();
  } finally {
    await pool.end();
    await onServer(database.url, (client) => client.query(`drop role ${login}`));
  }
  expect(lines).toMatchObject([
    {
      msg: expect.stringMatching(/^the database cannot be used yet.*`tidemark doctor`/),
      reason: expect.stringMatching(/^the database user may not do that: permission denied/),
      err: { code: '42501' },
    },
  ]);
});

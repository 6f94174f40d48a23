import pino from 'pino';
import { describe, expect, it } from 'vitest';
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

describe('issue: A refused password was a warning among others, and no line named the setting.', () => {
  it.each([
    [
      '28P01',
      /^the database refuses the password: .*\. Correct the password in DATABASE_URL or its file, .* it asks again$/,
    ],
    ['28000', /^the database refuses the user: .*\. Correct the user in DATABASE_URL, .* it asks again$/],
    ['3D000', /^the database does not exist: .*\. Correct the name at the end of DATABASE_URL, .* it asks again$/],
  ])('%s is one error of the log, with the fix, until it has passed', async (code, sentence) => {
    await using database = await freshDatabase();
    const login = `locked_${database.name}`;
    const kind = code === '28000' ? 'nologin' : 'login';
    await onServer(database.url, (client) => client.query(`create role ${login} ${kind} password 'right'`));
    const url = new URL(database.url);
    if (code === '3D000') url.pathname = '/not_there';
    else [url.username, url.password] = [login, code === '28P01' ? 'wrong' : 'right'];
    const pool = createPool({ log: silentLog }, { url: url.href, applicationName: 'test', maxConnections: 2 });
    const lines: Record<string, unknown>[] = [];
    const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) });
    const gate = new SchemaGate({ pool, log });
    try {
      await gate.start();
      await expect(gate.check()).rejects.toMatchObject({ code });
      await expect(gate.assertFits()).rejects.toMatchObject({ code });
    } finally {
      await pool.end();
      await onServer(database.url, (client) => client.query(`drop role ${login}`));
    }
    expect(lines).toMatchObject([{ level: 50, msg: expect.stringMatching(sentence), err: { code } }]);
  });
});

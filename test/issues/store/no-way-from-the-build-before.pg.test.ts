// What a user saw: The next build called the database foreign, and only a new database helped.

import { expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { buildsOfBefore, firstBuildDatabase } from '../../support/schema/builds-of-before.ts';
import { onServer } from '../../support/servers/on-server.ts';

async function run(url: string): Promise<{ code: number | undefined; said: string }> {
  const io = cliIo({ DATABASE_URL: url });
  await runProgram(io, ['migrate']);
  return { code: io.code(), said: io.out() + io.err() };
}

it.each(buildsOfBefore)('a database of $build is migrated once its last process is gone', async ({ make }) => {
  await using database = await make();
  await onServer(database.url, (client) => client.query('update lanes set renewed_at = now()'));
  const held = await run(database.url);
  expect(held.code).toBe(69);
  expect(held.said).toContain('one holds lane 0, and its build cannot go on beside this migration');

  await onServer(database.url, (client) => client.query("update lanes set renewed_at = now() - interval '1 minute'"));
  expect(await run(database.url)).toEqual({ code: 0, said: 'applied 0001_written_once\napplied 0002_one_answer\n' });
  expect(await run(database.url)).toEqual({ code: 0, said: 'The schema is current; nothing to do.\n' });
});

it('no constraint waits for its check after `tidemark migrate`', async () => {
  await using database = await firstBuildDatabase();
  await run(database.url);
  const { rows } = await onServer(database.url, (client) =>
    client.query('select conname from pg_constraint where not convalidated'),
  );
  expect(rows).toEqual([]);
});

it('a database of any other baseline is refused, with what to do, and stays as it is', async () => {
  await using database = await firstBuildDatabase();
  const books = () => onServer(database.url, (client) => client.query('select hash from drizzle.__drizzle_migrations'));
  await onServer(database.url, (client) => client.query("update drizzle.__drizzle_migrations set hash = 'b509612c00'"));
  const { code, said } = await run(database.url);
  expect(code).toBe(78);
  expect(said).toContain('0000_baseline was another one when it was applied (sha256 b509612c)');
  expect(said).toContain('begin with a new database and another TIDEMARK_TOPIC_PREFIX');
  expect((await books()).rows).toEqual([{ hash: 'b509612c00' }]);
});

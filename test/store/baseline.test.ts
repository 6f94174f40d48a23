import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempDisposableSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { readMigrations } from '../../src/store/migrations.ts';
import { joinMigration } from '../support/schema/join-schema.ts';

/** A database has these in its books, by this hash, and goes on from them. */
const released = {
  '0000_baseline': 'eed115fe27f2e1bb49dac04531212ab087d38f216a4c222673015211a7234c5d',
  '0001_written_once': 'c673b0590bb9f4c9d03ebd4d7fda7b194ab667724018ee0d8054be132003aace',
};

it('a migration that was released never changes', async () => {
  const hashes = (await readMigrations()).map(({ tag, hash }) => [tag, hash]);
  expect(Object.fromEntries(hashes)).toMatchObject(released);
});

// Where it differs: npx vitest run -u --project unit test/store/baseline.test.ts
it('the last migration leaves the functions, views, triggers and rights of src/store/sql', async () => {
  const [last, ...before] = (await readMigrations()).map(({ tag }) => tag).reverse();
  const read = (tag: string) => readFileSync(`drizzle/${tag}.sql`, 'utf8');
  const joined = joinMigration(read(`${last}`), before.reverse().map(read));
  await expect(joined).toMatchFileSnapshot(`../../drizzle/${last}.sql`);
});

// The next migration is generated from what they differ by. Where they do: npm run db:generate
it('the last snapshot of drizzle has the tables of src/store/schema', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'tidemark-drizzle-'));
  cpSync('drizzle', folder.path, { recursive: true });
  const args = ['tools/checks/run.ts', 'drizzle-kit', 'generate', '--dialect', 'postgresql'];
  const places = [
    '--schema',
    './src/store/schema',
    '--out',
    relative(process.cwd(), folder.path),
    '--casing',
    'snake_case',
  ];
  const said = execFileSync(process.execPath, [...args, ...places], { encoding: 'utf8', timeout: 120_000 });
  expect(said).toContain('No schema changes');
});

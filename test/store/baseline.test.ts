import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { is } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
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

interface Snapshot {
  readonly tables: Readonly<Record<string, { readonly columns: object; readonly indexes: object }>>;
}

// The next migration is generated from what they differ by. Where they do: npm run db:generate
it('the last snapshot of drizzle has the tables of src/store/schema', async () => {
  const wanted: Record<string, string[]> = {};
  for (const file of globSync('src/store/schema/*.ts')) {
    for (const table of Object.values(await import(join(process.cwd(), file)))) {
      if (!is(table, PgTable)) continue;
      const { name, columns, indexes } = getTableConfig(table);
      wanted[`public.${name}`] = [...columns, ...indexes.map(({ config }) => config)]
        .map((part) => `${part.name}`)
        .sort();
    }
  }
  const [last = ''] = globSync('drizzle/meta/*_snapshot.json').sort().reverse();
  const { tables } = JSON.parse(readFileSync(last, 'utf8')) as Snapshot;
  const found = Object.entries(tables).map(([name, { columns, indexes }]) => [
    name,
    [...Object.keys(columns), ...Object.keys(indexes)].sort(),
  ]);
  expect(Object.keys(wanted).length).toBeGreaterThan(20);
  expect(Object.fromEntries(found)).toEqual(wanted);
});

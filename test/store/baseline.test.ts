import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readMigrations } from '../../src/store/migrations.ts';
import { joinMigration } from '../support/schema/join-schema.ts';

/** A database has these in its books, by this hash, and goes on from them. */
const released = { '0000_baseline': 'eed115fe27f2e1bb49dac04531212ab087d38f216a4c222673015211a7234c5d' };

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

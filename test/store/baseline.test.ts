import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, it } from 'vitest';

/** In the order in which a new database gets them: a function in SQL needs its tables. */
const subjects = [
  ...['head', 'lanes', 'log', 'accounts', 'journal', 'limits', 'steps', 'stops', 'principals', 'losses'],
  ...['guards', 'rights'],
];

it('every subject of src/store/sql has its place in the baseline', () => {
  const files = globSync('src/store/sql/*.sql').map((file) => basename(file, '.sql'));
  expect(files.sort()).toEqual([...subjects].sort());
});

// Where it differs: npx vitest run -u --project unit test/store/baseline.test.ts
it('drizzle/0000_baseline.sql is src/store/sql, joined', async () => {
  const texts = subjects.map((subject) => readFileSync(`src/store/sql/${subject}.sql`, 'utf8'));
  await expect(texts.join('\n')).toMatchFileSnapshot('../../drizzle/0000_baseline.sql');
});

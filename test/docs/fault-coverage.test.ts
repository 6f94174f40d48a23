import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isTitle, tableRows, testsOf, titlesOf } from '../support/runs/named-tests.ts';

it('fault-coverage.md shows each fault by tests that are there', () => {
  const rows = tableRows(readFileSync('test/docs/fault-coverage.md', 'utf8')).filter(({ area }) => area !== 'fault');
  expect(rows.length).toBeGreaterThan(15);
  const wrong = rows.flatMap(({ area, client }) => {
    const tests = testsOf(client) ?? [];
    if (tests.length === 0) return [`${area}: names no test`];
    const isThere = ({ file, title }: { file: string; title: string }) =>
      existsSync(file) && titlesOf(readFileSync(file, 'utf8')).some((it) => isTitle(it, title));
    return tests.filter((test) => !isThere(test)).map(({ file, title }) => `${file} › ${title}`);
  });
  expect(wrong).toEqual([]);
});

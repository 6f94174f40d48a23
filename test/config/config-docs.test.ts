import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { configDocs } from '../../src/cli/config.ts';
import { optionTable } from '../../src/config/option-table.ts';

it('docs/configuration.md is what `tidemark config docs` prints', () => {
  expect(readFileSync('docs/configuration.md', 'utf8')).toBe(configDocs());
});

it('every option is on the page, once', () => {
  const page = configDocs();
  for (const { env } of Object.values(optionTable)) expect(page.split(`| \`${env}\``)).toHaveLength(2);
});

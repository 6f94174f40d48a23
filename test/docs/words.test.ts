import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

interface Word {
  readonly word: string;
  readonly type: string | undefined;
}

function words(): Word[] {
  const [, section = ''] = readFileSync('docs/README.md', 'utf8').split('## Words');
  const rows = [...section.matchAll(/^\| ([a-z ]+) \| .* \| (?:`(\w+)`)? ?\|$/gm)];
  return rows.map(([, word = '', type]) => ({ word, type })).filter(({ word }) => word !== 'word');
}

const exported = new Set(
  globSync('src/**/*.{ts,tsx}').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^export (?:abstract )?(?:class|interface|type) (\w+)/gm)].map(
      ([, name]) => name,
    ),
  ),
);

it('each word of the glossary stands there once', () => {
  const all = words().map(({ word }) => word);
  expect(all.length).toBeGreaterThan(30);
  expect(all.filter((word, index) => all.indexOf(word) !== index)).toEqual([]);
});

it('each type that the glossary names is exported somewhere in src/', () => {
  expect(words().flatMap(({ type }) => (type === undefined || exported.has(type) ? [] : [type]))).toEqual([]);
});

/**
 * Words of our own that a reader of the field would have to learn, and the
 * field's words that stand in their place.
 */
const given: Readonly<Record<string, string>> = {
  Tally: 'Counts',
  Veil: 'Concealment',
  Veils: 'Concealments',
  Seat: 'Assignment',
  Card: 'Introduction',
  Tenant: 'Work',
  Deed: 'Action',
};

it.each(Object.entries(given))('no exported type is called %s: say %s', (word) => {
  const inName = new RegExp(`${word}(?![a-z])`);
  expect([...exported].filter((name) => name !== undefined && inName.test(name))).toEqual([]);
});

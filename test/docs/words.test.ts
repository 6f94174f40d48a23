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

const exports = /^export (?:abstract |async )?(?:class|interface|type|function|const) (\w+)/gm;
const exported = new Set(
  globSync('src/**/*.{ts,tsx}').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(exports)].map(([, name]) => name),
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
  // A desk is the people who trade.
  'Desks?': 'Actions, Access, Service or Commands',
  // A log is published in its order; a program writes to its logger.
  AuditLog: 'AuditTrail',
  // Only a prediction market has outcomes, YES and NO.
  Outcome: 'Result',
};

it.each(Object.entries(given))('no exported name has %s in it: say %s', (word) => {
  const inName = new RegExp(`${word}(?![a-z])`);
  expect([...exported].filter((name) => name !== undefined && inName.test(name))).toEqual([]);
});

it('no test calls a part of the program a desk', () => {
  const named = /\b\w+\.desk\b[.(]|\b(?:class|interface|function) \w*Desk/;
  const files = globSync(['test/**/*.ts', 'bench/**/*.ts']);
  expect(files.filter((file) => named.test(readFileSync(file, 'utf8')))).toEqual([]);
});

/** Words of the glossary with one meaning, and the exported names that have it. */
const families: Readonly<Record<string, RegExp>> = {
  // A comparison of an account, or of the topics. The audit trail is another word.
  Audit: /^(?:run|judge)?Audit(?:ed|s|Deps|Options|Result|Findings?|Order)*$|(?:a|A)uditTrail|auditText|verifyCommand/,
  Log: /^(?:Postgres)?(?:Update|Result)Log$|^(?:maintain|isIn)Log$|[lL]og(?:Slice|Row|Bounds|Publisher)/,
  '[Rr]epair':
    /^(?:Postgres|New)?AccountRepairs?|^Repair(?:Answer|Request|Worker|s$)|^(?:answer|list|open)Repair|[rR]epair(?:List|Requests)$/,
  '[Rr]esol(?:ve|ving|ution)':
    /[rR]esolve(?:Command|Place|Result|Successor|Watched)|^Resol(?:ving|ution)|^(?:command|parse)Resol|resolution|ResolvingUpdate|readResolving/,
  Term: /^(?:Shard|Sending|Relay)?Term$|^TermLoop$|^TermName$/,
};

it.each(Object.entries(families))('the exported names with %s in them have its one meaning', (word, meant) => {
  const inName = new RegExp(`${word}(?![a-z])|^${word.toLowerCase()}(?![a-z])`);
  expect([...exported].filter((name) => name !== undefined && inName.test(name) && !meant.test(name))).toEqual([]);
});

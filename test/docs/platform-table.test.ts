import { existsSync, readFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { describe, expect, it } from 'vitest';
import { predictionErrors } from '../../src/venue/platform/wire/error-bodies.ts';
import { scopes } from '../../src/venue/platform/wire/oauth.ts';
import { certainties, pendingActions, predictionStates } from '../../src/venue/platform/wire/prediction-order.ts';
import config from '../../vitest.config.ts';
import { endpoints } from '../support/platform/endpoint-table.ts';
import { isTitle, namedTests, notPassed, tableRows, testsOf, titlesOf } from '../support/runs/named-tests.ts';

const text = readFileSync('test/docs/spec-coverage.md', 'utf8');
const rows = tableRows(text);
const named = namedTests(text);
const projects = (config as { test: { projects: { test: { include: string[]; exclude?: string[] } }[] } }).test
  .projects;

describe('test/docs/spec-coverage.md', () => {
  it('proves every row on both sides, or says why there is nothing to prove', () => {
    const unclear = rows.filter(
      ({ sandbox, client }) => testsOf(sandbox) === undefined || testsOf(client) === undefined,
    );
    expect(unclear).toEqual([]);
    expect(rows.length).toBeGreaterThan(60);
  });

  it('names tests that are in the files that it names', () => {
    const missing = named.filter(({ file, title }) => {
      if (!existsSync(file)) return true;
      return !titlesOf(readFileSync(file, 'utf8')).some((it) => isTitle(it, title));
    });
    expect(missing).toEqual([]);
  });

  it('names files that a project of the test run takes, and in which nothing is skipped', () => {
    const runs = (file: string) =>
      projects.some(
        ({ test }) =>
          test.include.some((glob) => matchesGlob(file, glob)) &&
          !(test.exclude ?? []).some((glob) => matchesGlob(file, glob)),
      );
    const files = [...new Set(named.map(({ file }) => file))];
    expect(files.filter((file) => !runs(file))).toEqual([]);
    const skips = /\b(?:it|test|describe)\.(?:skip|todo|only|skipIf|runIf|fails)\b/;
    expect(files.filter((file) => skips.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('has every endpoint for which requests are generated, and every word of the fixed lists', () => {
    const what = rows.map((row) => row.what).join('\n');
    const words = [
      ...endpoints.map(({ name }) => name.replace(/ \(.*/, '')),
      ...scopes,
      ...predictionStates,
      ...certainties,
      ...pendingActions,
      ...Object.keys(predictionErrors),
    ];
    const isNamed = (word: string) =>
      new RegExp(`(?<![\\w/])${word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w/])`).test(what);
    expect(words.filter((word) => !isNamed(word))).toEqual([]);
  });
});

describe('the reader of the table', () => {
  it('finds titles however they are quoted, and fills their open places', () => {
    const template = ['c $', '{d} e'].join('');
    const source = `it('a', () => {}); it.each([1])("b %s it's", async (x) => {}); it(\`${template}\`, () => {}); describe('no', () => {}); describe.each(x)('$name', (y) => {});`;
    expect(titlesOf(source)).toEqual(['a', "b %s it's", template]);
    expect(isTitle("b %s it's", "b 1 it's")).toBe(true);
    expect(isTitle(template, 'c x e')).toBe(true);
    expect(isTitle(template, 'c x f')).toBe(false);
    expect([isTitle('a', 'ab'), isTitle('%s', 'ab')]).toEqual([false, false]);
  });

  it('tells which of the named tests did not pass in a run', () => {
    const results = [
      { status: 'passed', title: 'a' },
      { status: 'failed', title: 'b' },
      { status: 'passed', title: 'c 1' },
    ];
    const report = {
      testResults: [{ name: '/somewhere/test/x.test.ts', status: 'failed', assertionResults: results }],
    };
    const of = (title: string, file = 'test/x.test.ts') => ({ file, title });
    expect(notPassed(report, [of('a'), of('b'), of('c %s'), of('d'), of('a', 'test/y.test.ts')])).toEqual([
      of('b'),
      of('d'),
      of('a', 'test/y.test.ts'),
    ]);
  });

  it('knows rows, reasons and tests from anything else', () => {
    const markdown =
      '| area | what | sandbox | client |\n|---|---|---|---|\n| A | b \\| c | test/x.test.ts › y | – none |\n| two | cells |';
    expect(tableRows(markdown)).toEqual([
      { area: 'A', what: 'b | c', sandbox: 'test/x.test.ts › y', client: '– none' },
    ]);
    expect(testsOf('test/x.test.ts › y<br>test/z.pg.test.ts › w')).toHaveLength(2);
    expect([testsOf('–'), testsOf(''), testsOf('later'), testsOf('– not ours')]).toEqual([
      undefined,
      undefined,
      undefined,
      [],
    ]);
  });
});

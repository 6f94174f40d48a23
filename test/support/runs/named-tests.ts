import type { RunReport } from './summarise-run.ts';

/** A test that a table names: `test/room/file.test.ts › its title`. */
interface NamedTest {
  readonly file: string;
  readonly title: string;
}

/** One row of test/docs/spec-coverage.md. */
interface TableRow {
  readonly area: string;
  readonly what: string;
  /** What proves it on the sandbox, and in the client: tests, or `– why there is none`. */
  readonly sandbox: string;
  readonly client: string;
}

const columns = 4;

/** The rows of every table with four columns. A `|` inside of a cell is written `\|`. */
export function tableRows(markdown: string): TableRow[] {
  return markdown
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|(?:\s*-+\s*\|)+$/.test(line))
    .map((line) => line.replace(/^\|\s*|\s*\|\s*$/g, '').split(/(?<!\\)\|/))
    .filter((cells) => cells.length === columns)
    .map((cells) => cells.map((cell) => cell.trim().replaceAll('\\|', '|')))
    .filter(([area]) => area !== 'area')
    .map(([area = '', what = '', sandbox = '', client = '']) => ({ area, what, sandbox, client }));
}

/**
 * The tests of a cell, several are parted by `<br>`. Undefined when
 * something in it is neither a test nor a reason.
 */
export function testsOf(cell: string): NamedTest[] | undefined {
  if (/^–\s+\S/.test(cell)) return [];
  const tests: NamedTest[] = [];
  for (const part of cell.split('<br>')) {
    const match = /^(test\/\S+\.(?:test|deep)\.ts) › (.+)$/.exec(part.trim());
    if (match === null) return undefined;
    tests.push({ file: match[1] ?? '', title: match[2] ?? '' });
  }
  return tests;
}

/**
 * The titles of a test file as they stand in its source, with the places
 * of `it.each` and of templates still open.
 */
export function titlesOf(source: string): string[] {
  const title =
    /(\bdescribe(?:\.each)?(?:<[^>]*>)?(?:\([^)]*\))?)?\(\s*(['"`])((?:\\.|(?!\2).)*)\2\s*,\s*(?:async\s*)?\(/g;
  return [...source.matchAll(title)]
    .filter(([, describes]) => describes === undefined)
    .map((match) => (match[3] ?? '').replace(/\\(.)/g, '$1'));
}

/**
 * Whether `name` is the title of the source, or what it becomes when its open places are filled.
 */
export function isTitle(title: string, name: string): boolean {
  if (title === name) return true;
  const parts = title.split(/%[a-z]|\$\{[^}]*\}|\$\w+/);
  const pattern = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*');
  // A title without a fixed word would be any test's name.
  const isFixed = parts.some((part) => part.trim() !== '');
  return isFixed && parts.length > 1 && new RegExp(`^${pattern}$`, 's').test(name);
}

/** Every test that a document names, each once. */
export function namedTests(markdown: string): NamedTest[] {
  const tests = tableRows(markdown).flatMap(({ sandbox, client }) => [
    ...(testsOf(sandbox) ?? []),
    ...(testsOf(client) ?? []),
  ]);
  return [...new Map(tests.map((test) => [`${test.file} ${test.title}`, test])).values()];
}

/**
 * Those of the named tests of which no run of this report passed. A title with open places stands
 * for all that they became.
 */
export function notPassed({ testResults }: Pick<RunReport, 'testResults'>, named: readonly NamedTest[]): NamedTest[] {
  return named.filter(({ file, title }) => {
    const results = testResults.filter(({ name }) => name.endsWith(`/${file}`)).flatMap((it) => it.assertionResults);
    return !results.some((it) => it.status === 'passed' && (it.title === title || isTitle(title, it.title)));
  });
}

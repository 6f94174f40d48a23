import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const sources = [...globSync('{src,test,bench,grafana/source}/**/*.{ts,tsx}'), ...globSync('drizzle/*.sql')].filter(
  (file) => file !== 'test/docs/cited-pages.test.ts',
);
/** Comments only: strings of tests name files that they make themselves. */
const comments = sources.map((file) => ({
  file,
  text: (readFileSync(file, 'utf8').match(/\/\*[\s\S]*?\*\/|\/\/ .*|^ *-- .*/gm) ?? []).join('\n'),
}));

function headingsOf(page: string): string[] {
  return (readFileSync(page, 'utf8').match(/^#+ .*/gm) ?? []).map((heading) =>
    heading.replace(/^#+ /, '').replaceAll('`', ''),
  );
}

it('comments cite pages and headings that are in the project', () => {
  const cited = comments.flatMap(({ file, text }) =>
    [...text.matchAll(/(?<!\w\/)\b(docs\/[\w./-]+\.md)((?:(?:,| and) "[^"\n]+")*)/g)].flatMap(
      ([, page = '', quoted = '']) => {
        if (!existsSync(page)) return [`${file}: ${page}`];
        const headings = headingsOf(page);
        const named = [...quoted.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name.replaceAll('`', ''));
        return named.filter((name) => !headings.includes(name)).map((name) => `${file}: ${page}, "${name}"`);
      },
    ),
  );
  expect(cited).toEqual([]);
});

it('comments name files of src/ that are there', () => {
  const rooms = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const named = new RegExp(
    `(?<![\\w/-])(?:src/)?((?:${rooms.map(({ name }) => name).join('|')})/[\\w/.-]+\\.tsx?)\\b`,
    'g',
  );
  // A migration stays as it was written.
  const ofNow = comments.filter(({ file }) => !file.startsWith('drizzle/'));
  const missing = ofNow.flatMap(({ file, text }) =>
    [...text.matchAll(named)].filter(([, path]) => !existsSync(`src/${path}`)).map(([path]) => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
});

it('comments cite no page that is not in the project', () => {
  const foreign =
    /\((?:design|contract|reconciliation|invariants?)\b[,.)]|\b(?:reconciliation|invariants|platform-contract)\.md/;
  expect(comments.filter(({ text }) => foreign.test(text)).map(({ file }) => file)).toEqual([]);
});

import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { headingAnchor } from '../../tools/site/heading-anchor.ts';

/** Rooms of src/: what begins with one of them and ends in .ts is a file there. */
const rooms = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
const sources = new RegExp(`\`((?:${rooms.map(({ name }) => name).join('|')})/[\\w/*.-]+\\.ts)\``, 'g');
const tests = /`((?:test|bench|src)\/[\w/*.-]+)`/g;

it.each([...globSync('*.md'), ...globSync('{docs,test/docs}/**/*.md')].filter((page) => page !== 'CHANGELOG.md'))(
  '%s names files that are there',
  (page) => {
    const text = readFileSync(page, 'utf8');
    const named = [
      ...[...text.matchAll(sources)].map(([, file]) => `src/${file}`),
      ...[...text.matchAll(tests)].map(([, path]) => path ?? ''),
    ];
    expect(named.filter((path) => globSync(path.replace(/\/$/, '')).length === 0)).toEqual([]);
  },
);

function anchorsOf(page: string): string[] {
  const headings = readFileSync(page, 'utf8').match(/^#+ .*/gm) ?? [];
  return headings.map((heading) => headingAnchor(heading.replace(/^#+ /, '')));
}

it.each([...globSync('*.md'), ...globSync('{docs,test/docs}/**/*.md')])(
  'the links of %s lead somewhere, to the heading too',
  (page) => {
    const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
    const broken = links.filter(([, path = '', anchor]) => {
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(target)) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  },
);

it('the README stays within two screens', () => {
  expect(readFileSync('README.md', 'utf8').split('\n').length).toBeLessThanOrEqual(100);
});

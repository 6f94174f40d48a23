import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { brokenLinks } from '../../tools/site/broken-links.ts';
import { sidebar } from '../../tools/site/sidebar.ts';
import { pageOf, sitePages } from '../../tools/site/site-pages.ts';

const { pages, pictures } = sitePages();

it('the site has a page for each page of docs/, each folder and each file of code that a page links to', () => {
  expect([...pages.keys()]).toEqual(
    expect.arrayContaining([
      'index.md',
      'readme.md',
      'rest.md',
      'runbooks/index.md',
      'runbooks/CommandUnknown.md',
      'consumers/Consumer.java.md',
    ]),
  );
  expect(pages.get('runbooks/index.md')).toContain('- [CommandUnknown](./CommandUnknown.md)');
  expect(pages.get('consumers/Consumer.java.md')).toContain('````java\n');
  expect(pictures.length).toBeGreaterThan(20);
});

it('links lead to the pages of the site, and fences stay as they are', () => {
  const readme = pages.get('readme.md') ?? '';
  expect(readme).toContain('](./index.md)');
  expect(readme).not.toContain('](docs/');
  expect(pages.get('console.md')).toContain('src="/console/orders-light.png"');
  const fence = /```ts\n.*?```/s;
  const source = 'docs/consuming.md';
  expect(pages.get(pageOf(source))?.match(fence)?.[0]).toBe(fence.exec(readFileSync(source, 'utf8'))?.[0]);
});

it('the sidebar is docs/README.md: its headings, each page once, folders with their pages', () => {
  const groups = sidebar();
  expect(groups.map(({ text }) => text)).toContain('Run it');
  const items = groups.flatMap((group) => group.items.flatMap((item) => ('items' in item ? item.items : [item])));
  const links = items.flatMap((item) => ('link' in item ? [item.link] : []));
  expect(links.length).toBeGreaterThan(60);
  expect(new Set(links).size).toBe(links.length);
  expect(links.filter((link) => !pages.has(link.slice(1)))).toEqual([]);
});

it('a built page with a link to no file or to no heading is found', () => {
  const site = mkdtempSync(join(tmpdir(), 'tidemark-site-'));
  onTestFinished(() => rmSync(site, { recursive: true }));
  mkdirSync(join(site, 'runbooks'));
  writeFileSync(
    join(site, 'index.html'),
    '<a href="/runbooks/"><a href="./runbooks/index.html#one"><a href="/gone.html"><h1 id="top">',
  );
  writeFileSync(
    join(site, 'runbooks/index.html'),
    '<h2 id="one"><a href="../index.html#top"><a href="#one"><a href="#two"><a href="https://example.com/x"><img src="/a.png">',
  );
  expect(brokenLinks(site).toSorted()).toEqual([
    'index.html: /gone.html',
    'runbooks/index.html: #two',
    'runbooks/index.html: /a.png',
  ]);
});

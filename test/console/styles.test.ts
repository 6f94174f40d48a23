import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const textOf = (pattern: string) => globSync(pattern).map((file) => readFileSync(file, 'utf8'));
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
const namesIn = (text: string) => text.match(/[a-zA-Z][\w-]*/g) ?? [];

const rules = textOf('src/{console/styles,demo/console}/*.css')
  .map(withoutComments)
  .flatMap((text) => [...text.matchAll(/([^{}]+)\{/g)].map(([, selector = '']) => selector.trim()))
  .filter((selector) => !selector.startsWith('@'));
const styled = new Set(
  rules.flatMap((selector) => [...selector.matchAll(/\.([a-zA-Z][\w-]*)/g)].map(([, name]) => name)),
);

const views = textOf('src/{console,demo/console}/**/*.{ts,tsx}').map(withoutComments).join('\n');
const texts = [...views.matchAll(/'[^'\n]*'|"[^"\n]*"|`[^`]*`/g)].map(([text]) => text);
const said = new Set(texts.flatMap(namesIn));

/** A class whose end is made from a value: `story-${kind}`. */
const made = [...views.matchAll(/[\s`]([a-z-]+-)\$\{/g)].map(([, start = '']) => start);

it('every class of a style sheet is that of an element', () => {
  expect(styled.size).toBeGreaterThan(150);
  const unused = [...styled].filter((name = '') => !said.has(name) && !made.some((start) => name.startsWith(start)));
  expect(unused).toEqual([]);
});

it('every class of an element has a rule, or a test that finds the element by it', () => {
  const attributes = [...views.matchAll(/\bclass=(?:"([^"]*)"|\{`([^`]*)`\})/g)];
  const used = attributes.flatMap(([, plain, template = '']) =>
    namesIn(plain ?? template.replace(/[\w-]*\$\{[^}]*\}/g, ' ')),
  );
  expect(used.length).toBeGreaterThan(200);
  const tests = textOf('test/{deep,e2e}/*.ts').join('\n');
  expect(new Set(used.filter((name) => !styled.has(name) && !tests.includes(`.${name}`)))).toEqual(new Set());
});

it('what may scroll within its place is reached by the keys', () => {
  const scrolling = views.match(/<pre[^>]*>/g) ?? [];
  expect(scrolling.length).toBeGreaterThan(3);
  expect(scrolling.filter((element) => !element.includes('tabindex={0}'))).toEqual([]);
});

it('a text is measured in the fonts that the page has', () => {
  const base = textOf('src/console/styles/base.css').join('').replace(/\s+/g, ' ');
  const families = [
    ...textOf('src/console/parts/text-width.ts')
      .join('')
      .matchAll(/= '([^']*(?:serif|mono[^']*))';/g),
  ];
  expect(families).toHaveLength(2);
  for (const [, family] of families) expect(base).toContain(`${family};`);
});

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const page = readFileSync('docs/guarantees.md', 'utf8');
const rows = readFileSync('test/docs/guarantee-coverage.md', 'utf8').matchAll(/^\| (.+?) \| (.+) \| (.+) \|$/gm);
const covered = [...rows]
  .map(([, guarantee = '']) => guarantee.replaceAll('](../../docs/', ']('))
  .filter((guarantee) => guarantee !== 'guarantee');

it('guarantee-coverage.md has each guarantee of docs/guarantees.md, to the letter, and no other', () => {
  const [, detail = ''] = /^## In detail$(.*?)^## /ms.exec(page) ?? [];
  const listed = [...detail.matchAll(/^- (.+)$/gm)].map(([, text = '']) => text);
  expect(covered.length).toBe(listed.length);
  expect(covered.filter((guarantee) => !listed.some((text) => text.startsWith(`${guarantee}.`)))).toEqual([]);
});

import { readFileSync } from 'node:fs';

/**
 * The blocks of code under a heading of docs/recipes.md, in
 * order, up to the next heading of its level.
 */
export function recipe(heading: string): string[] {
  const page = readFileSync('docs/recipes.md', 'utf8');
  const [, after] = page.split(`\n## ${heading}\n`);
  if (after === undefined) throw new Error(`docs/recipes.md has no part ${heading}`);
  const [part = ''] = after.split('\n## ');
  return [...part.matchAll(/```\w+\n(.*?)```/gs)].map(([, code = '']) => code);
}

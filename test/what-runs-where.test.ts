import { globSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { expect, it } from 'vitest';
import usual from '../vitest.config.ts';
import compose from './compose/vitest.config.ts';
import deep from './deep/vitest.config.ts';

interface Part {
  readonly include: string[];
  readonly exclude?: string[];
}

const { projects } = (usual as { test: { projects: { test: Part & { name: string } }[] } }).test;
const parts = new Map<string, Part>([
  ...projects.map(({ test }) => [`npm test, ${test.name}`, test] as const),
  ['npm run test:deep', (deep as { test: Part }).test],
  ['npm run test:compose', (compose as { test: Part }).test],
]);

it('each file of tests belongs to exactly one command, and to one project of it', () => {
  const files = globSync('test/**/*.{test,deep,compose}.ts');
  expect(files.length).toBeGreaterThan(500);
  const matches = (file: string, globs: readonly string[] = []) => globs.some((glob) => matchesGlob(file, glob));
  const wrong = files.flatMap((file) => {
    const takers = [...parts].filter(([, { include, exclude }]) => matches(file, include) && !matches(file, exclude));
    return takers.length === 1 ? [] : [`${file}: ${takers.map(([name]) => name).join(' and ') || 'no command'}`];
  });
  expect(wrong).toEqual([]);
});

import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { unpackPackage } from '../support/unpack-package.ts';

it('the packed package has each page that a message of the program names, and each file that a page names as one of docs', () => {
  const { folder, home } = unpackPackage();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const named = globSync('src/**/*.ts').flatMap(
    (file) => readFileSync(file, 'utf8').match(/docs\/[\w/-]+\.(md|ts|py|java)/g) ?? [],
  );
  const inPages = globSync('docs/*.md').flatMap(
    (file) => readFileSync(file, 'utf8').match(/docs\/[\w/-]+\.(json|ts|py|java)/g) ?? [],
  );
  const missing = [...new Set([...named, ...inPages])].filter((page) => !existsSync(join(home, page)));
  expect(missing).toEqual([]);
  expect(named).toContain('docs/repair.md');
  expect(inPages).toContain('docs/scenarios/rough-day.json');
});

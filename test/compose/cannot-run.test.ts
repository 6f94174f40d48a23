import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { cannotRunFile, tellCannotRun } from './cannot-run.ts';
import { findOrStartEngine } from './engine.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-cannot-run-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

it('without an engine, and without what could start or install one, says what to do', async () => {
  // A folder without a program.
  vi.stubEnv('PATH', folder);
  await expect(findOrStartEngine()).rejects.toThrow(
    /^no Docker engine answers.*(start one|apt-get install docker\.io)/,
  );
});

it('tells a whole `npm run test:deep` why it was not run, and nobody else', () => {
  const file = join(folder, 'reason');
  tellCannotRun(new Error('unheard'));
  vi.stubEnv(cannotRunFile, file);
  expect(existsSync(file)).toBe(false);
  tellCannotRun(new Error('no Docker engine answers'));
  expect(readFileSync(file, 'utf8')).toBe('no Docker engine answers');
});

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { findOrStartEngine } from './engine.ts';
import { NoEngineError, noEngineFile, tellNoEngine } from './no-engine-error.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-no-engine-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

it('without an engine, and without what could start or install one, says what to do', async () => {
  // A folder without a program.
  vi.stubEnv('PATH', folder);
  await expect(findOrStartEngine()).rejects.toThrow(NoEngineError);
  await expect(findOrStartEngine()).rejects.toThrow(/^no Docker engine answers.*(start one|apt-get install docker\.io)/);
});

it('tells a whole `npm test` of a missing engine, and of nothing else: a broken test must not pass for one', () => {
  const file = join(folder, 'reason');
  tellNoEngine(new NoEngineError('unheard'));
  vi.stubEnv(noEngineFile, file);
  tellNoEngine(new Error('mmdebstrap: took longer than 600 s'));
  expect(existsSync(file)).toBe(false);
  tellNoEngine(new NoEngineError('no Docker engine answers'));
  expect(readFileSync(file, 'utf8')).toBe('no Docker engine answers');
});

import { statSync } from 'node:fs';
import { afterEach, expect, it, vi } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

afterEach(() => void vi.unstubAllEnvs());

it('takes a TMPDIR that is set', () => {
  vi.stubEnv('TMPDIR', '/nowhere');
  expect(temporaryFolder()).toBe('/nowhere');
});

it('without one is a folder that is there, for every user', () => {
  vi.stubEnv('TMPDIR', undefined);
  const { mode } = statSync(temporaryFolder());
  // Postgres runs as another user where the tests run as root.
  expect(mode & 0o005).toBe(0o005);
});

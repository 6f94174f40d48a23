// What a user saw: Tidemark ran compiled code that another user of the machine had put into its cache.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

let cache: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'tidemark-cache-'));
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

/** Starts the program once with this cache; whether it kept compiled code there. */
function keepsCode(): boolean {
  const env = { PATH: process.env['PATH'] ?? '', XDG_CACHE_HOME: cache };
  const { status } = spawnSync(process.execPath, ['bin/tidemark.js', '--version'], { env, timeout: 60_000 });
  expect(status).toBe(0);
  const code = join(cache, 'tidemark', 'code');
  return existsSync(code) && readdirSync(code).length > 0;
}

it('the program keeps compiled code in folders that only its own user can write to', () => {
  expect(keepsCode()).toBe(true);
  for (const name of ['tidemark', 'tidemark/code']) expect(statSync(join(cache, name)).mode & 0o777).toBe(0o700);
});

it('the program keeps its code below a shared folder whose sticky bit protects it', () => {
  chmodSync(cache, 0o1777);
  expect(keepsCode()).toBe(true);
});

it.each([
  ['.', '777'],
  ['tidemark', '777'],
  ['tidemark', '770'],
  ['tidemark/code', '777'],
])('the program runs no code of a cache whose folder %s has the mode %s', (name, mode) => {
  mkdirSync(join(cache, 'tidemark', 'code'), { recursive: true, mode: 0o700 });
  chmodSync(join(cache, name), Number.parseInt(mode, 8));
  expect(keepsCode()).toBe(false);
});

it('the program runs no code of a cache whose folder is a link', () => {
  mkdirSync(join(cache, 'tidemark'), { mode: 0o700 });
  mkdirSync(join(cache, 'elsewhere'), { mode: 0o700 });
  symlinkSync(join(cache, 'elsewhere'), join(cache, 'tidemark', 'code'));
  expect(keepsCode()).toBe(false);
});

// Only root can give a folder away; CI and containers run the tests as root.
const givenAway = process.getuid?.() === 0 ? ['.', 'tidemark', 'tidemark/code'] : [];
it.each(givenAway)('the program runs no code of a cache whose folder %s belongs to another user', (name) => {
  mkdirSync(join(cache, 'tidemark', 'code'), { recursive: true, mode: 0o700 });
  chownSync(join(cache, name), 65_534, 65_534);
  expect(keepsCode()).toBe(false);
});

// What a user saw: `npx tidemark` ended with ESTRICTALLOWSCRIPTS where npm's strict-allow-scripts was on.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

// With strict-allow-scripts npm refuses to run our own program while this package has a script that
// an install would run, whatever allowScripts says: `npx tidemark` of every page ended with
// ESTRICTALLOWSCRIPTS. The script `dependencies` runs after an install too, and is none of these.
it('npx runs tidemark in a checkout', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  // As at the first run on a machine: once it has worked, npm asks no more.
  const cache = mkdtempSync(join(tmpdir(), 'tidemark-npm-'));
  try {
    const env = { ...process.env, npm_config_cache: cache };
    expect(execFileSync('npx', ['tidemark', '--version'], { encoding: 'utf8', env, timeout: 60_000 }).trim()).toBe(
      version,
    );
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
});

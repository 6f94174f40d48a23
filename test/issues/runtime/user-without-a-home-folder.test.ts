// What a user saw: A user without a home folder got a raw system error (`uv_os_homedir`) from each command.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cacheFolder } from '../../../src/runtime/cache-folder.ts';
import { makeTemporaryFolder } from '../../../src/runtime/temporary-folder.ts';

const entry = 'bin/tidemark.js';
const path = process.env['PATH'] ?? '';

/** What Node does for a user that no passwd file names, and without HOME. */
const homeless = `data:text/javascript,${encodeURIComponent(
  `import os from 'node:os'; import module from 'node:module';
  os.homedir = () => { throw new Error('A system error occurred: uv_os_homedir returned ENOENT (no such file or directory)') };
  module.syncBuiltinESMExports();`,
)}`;

function tidemark(args: string[], env: Record<string, string>) {
  const run = spawnSync(process.execPath, ['--import', homeless, entry, ...args], {
    encoding: 'utf8',
    timeout: 60_000,
    env: { PATH: path, ...env },
  });
  return { code: run.status, out: run.stdout, err: run.stderr };
}

describe('a user without a home folder', () => {
  it('may run what needs none', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(tidemark(['--version'], {})).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  it('reads in plain words what is missing where one is needed', () => {
    const { code, err } = tidemark(['dev'], {});
    expect(code).toBe(78);
    expect(err).toContain('this user has no home folder');
    expect(err).toContain('Set XDG_CACHE_HOME');
    expect(err).not.toContain('uv_os_homedir');
  });

  it('may name another place', () => {
    expect(cacheFolder({ XDG_CACHE_HOME: '/var/cache' })).toBe('/var/cache/tidemark');
  });
});

it('a /tmp that can not be written to is told, with what to set', async () => {
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = '/proc/none';
  try {
    await expect(makeTemporaryFolder('x-')).rejects.toMatchObject({
      ...{ code: 'TEMPORARY_FOLDER', exitCode: 78 },
      message: expect.stringMatching(/^no folder can be made in \/proc\/none: /),
      fix: 'Set TMPDIR to a folder that this user may write to.',
    });
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
});

describe('a reader of the output that has stalled', () => {
  const filling = 'data:text/javascript,process.stdout.write(`x`.repeat(4e6))';
  // By the environment, so that it holds for the process itself
  // where an older Node only launches it.
  const env = { PATH: path, NODE_OPTIONS: `--import=${filling}` };
  const start = (args: string[]) =>
    spawn(process.execPath, [entry, ...args], { stdio: ['ignore', 'pipe', 'ignore'], env });

  it('does not keep a service from its end', async () => {
    const child = start(['serve']);
    // Its own exit code, and nothing was read.
    expect(await once(child, 'exit')).toEqual([78, null]);
    child.stdout.destroy();
  });

  it('gets all of the output of another command, as late as it likes', async () => {
    const child = start(['--version']);
    let length = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    await once(child, 'close');
    expect(length).toBeGreaterThan(4_000_000);
  });
});

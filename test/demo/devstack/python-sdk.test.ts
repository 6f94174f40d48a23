import { chmodSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { pythonSdk } from '../../../src/demo/lost-answer/official-sdk.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

/** A machine whose python3 is this script of the shell; without one it has none. */
function machine(script?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-python-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync('/bin/touch', join(folder, 'touch'));
  if (script !== undefined) {
    writeFileSync(join(folder, 'python3'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, 'python3'), 0o755);
  }
  return { cacheDir: join(folder, 'cache'), name: 'some-sdk==1.0', searchPath: folder };
}

const fetched = (at: ReturnType<typeof machine>) => pythonSdk({ clock: systemClock }, at);

it('a package of Python is fetched once, into a folder of its own', async () => {
  const at = machine('while [ "$1" != --target ]; do shift; done; touch "$2/$3"');
  const folder = await fetched(at);
  expect(existsSync(join(folder, 'some-sdk==1.0'))).toBe(true);
  rmSync(join(at.searchPath, 'python3'));
  expect(await fetched(at)).toBe(folder);
});

it.each([
  ['there is no Python', undefined],
  ['Python has no pip', 'echo "/usr/bin/python3: No module named pip" >&2; exit 1'],
])('where %s, it says so and how to install it', async (_name, script) => {
  await expect(fetched(machine(script))).rejects.toMatchObject({
    message: 'some-sdk==1.0 could not be fetched: python3 with pip was not found',
    fix: 'Install Python 3.10 or newer with pip (Debian: `apt-get install python3-pip`).',
    exitCode: 1,
  });
});

it('where no package index is reached, it says the last words of pip', async () => {
  const script = 'echo "WARNING: retrying" >&2; echo "ERROR: No matching distribution found for some-sdk" >&2; exit 1';
  await expect(fetched(machine(script))).rejects.toMatchObject({
    message: 'some-sdk==1.0 could not be fetched: ERROR: No matching distribution found for some-sdk',
    fix: expect.stringContaining('PIP_INDEX_URL'),
    exitCode: 1,
  });
});

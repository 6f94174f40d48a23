import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cachedFolder } from '../../../src/demo/devstack/cached-folder.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

describe('a cached folder', () => {
  let cache: string;
  let builds: number;

  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), 'tidemark-cache-'));
    builds = 0;
  });

  afterEach(() => rmSync(cache, { recursive: true, force: true }));

  function get(before = (): Promise<void> => Promise.resolve()): Promise<string> {
    return cachedFolder(
      { clock: systemClock },
      {
        path: join(cache, 'thing'),
        build: async (folder) => {
          builds += 1;
          await before();
          await writeFile(join(folder, 'content'), String(builds));
        },
      },
    );
  }

  it('is built once, whoever asks', async () => {
    await Promise.all([get(), get(), get()]);
    const path = await get();
    expect([builds, readdirSync(path), readdirSync(cache)]).toEqual([1, ['content'], ['thing']]);
  });

  it('is not there when its build failed, and is built by the next who asks', async () => {
    await expect(get(() => Promise.reject(new Error('no network')))).rejects.toThrow('no network');
    expect(readdirSync(cache)).toEqual([]);
    await get();
    expect(readdirSync(cache)).toEqual(['thing']);
  });

  it('is built although a process died while it built it, and nothing of that stays', async () => {
    // A process id beyond what any system gives out.
    writeFileSync(join(cache, 'thing.lock'), '999999999');
    mkdirSync(join(cache, 'thing.building-999999999-x'));
    await get();
    expect(readdirSync(cache)).toEqual(['thing']);
  });
});

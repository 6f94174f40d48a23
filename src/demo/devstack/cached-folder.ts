import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';

/**
 * How long to wait for another process's build. Maven over a slow line takes minutes; a dead build
 * is noticed at once.
 */
const patienceMs = 10 * 60_000;

/**
 * The folder at `path`, made by `build` when it is not there. An existing folder is complete: it is
 * built under another name and renamed.
 *
 * The renaming alone makes it safe when several processes do it at once. The lock only saves the
 * second one the work (and Maven's own cache from two writers). So its one weakness only costs
 * time: two processes may break the same dead lock together.
 */
export async function cachedFolder(
  deps: { readonly clock: Clock },
  options: { readonly path: string; readonly build: (folder: string) => Promise<void> },
): Promise<string> {
  const { path, build } = options;
  if (existsSync(path)) return path;
  await mkdir(dirname(path), { recursive: true });
  const unlock = await lock(deps.clock, `${path}.lock`, () => existsSync(path));
  try {
    if (existsSync(path)) return path;
    await removeAbandoned(path);
    const folder = await mkdtemp(`${path}.building-${process.pid}-`);
    try {
      await build(folder);
      await moveInto(folder, path);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    return path;
  } finally {
    await unlock();
  }
}

/** Removes a killed process's unfinished folders. */
async function removeAbandoned(path: string): Promise<void> {
  const begun = `${basename(path)}.building-`;
  for (const name of await readdir(dirname(path))) {
    const builder = name.startsWith(begun) ? Number.parseInt(name.slice(begun.length), 10) : process.pid;
    if (!lives(builder)) await rm(join(dirname(path), name), { recursive: true, force: true });
  }
}

async function moveInto(folder: string, path: string): Promise<void> {
  try {
    await rename(folder, path);
  } catch (error) {
    // Another process was faster: its folder is equally good.
    if (!existsSync(path)) throw error;
  }
}

async function lock(clock: Clock, file: string, done: () => boolean): Promise<() => Promise<void>> {
  const deadline = clock.monotonicMs() + patienceMs;
  while (clock.monotonicMs() < deadline && !done()) {
    if (await takeLock(file)) return () => rm(file, { force: true });
    if (!(await holderLives(file))) await rm(file, { force: true });
    else await clock.sleep(50);
  }
  return () => Promise.resolve();
}

async function takeLock(file: string): Promise<boolean> {
  try {
    const handle = await open(file, 'wx');
    await handle.writeFile(String(process.pid)).finally(() => handle.close());
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * An empty lock was made an instant ago, and its holder is about to write its process id: it counts
 * as living.
 */
async function holderLives(file: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text === '' || lives(Number(text));
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';

/** A checkout whose service and statements are measured. */
export interface Build {
  /** Of the commit, for people. */
  readonly name: string;
  readonly root: string;
}

const root = join(import.meta.dirname, '..');

/** This checkout, with what is not committed yet. */
export const here: Build = { name: revision(), root };

/**
 * Another commit in a temporary folder, with the packages of this checkout: where their lists
 * differ, this says so. Gone at the end. Throws an Error with a sentence where there is no such
 * commit.
 */
export function checkOut(cleanup: Cleanup, ref: string): Build {
  const commit = git('rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`);
  if (commit === undefined) throw new Error(`there is no commit ${ref}`);
  const folder = join(mkdtempSync(join(tmpdir(), 'tidemark-bench-vs-')), 'checkout');
  cleanup.add(async () => {
    // The link first: nothing may follow it.
    rmSync(join(folder, 'node_modules'), { force: true });
    git('worktree', 'remove', '--force', folder);
    rmSync(join(folder, '..'), { recursive: true, force: true });
  });
  if (git('worktree', 'add', '--detach', folder, commit) === undefined) {
    throw new Error(`git could not check out ${ref}`);
  }
  symlinkSync(realpathSync(join(root, 'node_modules')), join(folder, 'node_modules'));
  const [ours, theirs] = [root, folder].map((of) => lockOf(of));
  if (ours !== theirs) console.error(`${ref} names other packages; it is measured with those of this checkout`);
  return { name: commit.slice(0, 8), root: folder };
}

/** As they are taken in turn: a machine that grows slower costs both the same. */
export function inTurns(builds: readonly Build[]): Build[] {
  return builds.length === 1 ? [...builds] : [...builds, ...builds.toReversed()];
}

function lockOf(folder: string): string {
  const file = join(folder, 'package-lock.json');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

function revision(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const commit = git('describe', '--always', '--dirty=+', '--abbrev=8', '--exclude=*');
  return commit ?? version;
}

/** Undefined where it fails, as it does without a repository. */
function git(...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, { encoding: 'utf8', cwd: root, stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

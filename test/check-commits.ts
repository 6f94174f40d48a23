/**
 * Checks the commits since the one that brought this file: a subject of at most 72 columns, and a
 * body where src/ changed. With a file name, checks the message in it against what is staged:
 * `.githooks/commit-msg` does so before a commit.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { argv, exit, stdout } from 'node:process';
import { messageFaults } from './message-faults.ts';

const ownPath = 'test/check-commits.ts';

const git = (...args: string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'inherit'] });

function checkStaged(file: string): readonly string[] {
  const touchesSource = git('diff', '--cached', '--name-only', '--', 'src').trim() !== '';
  return messageFaults(readFileSync(file, 'utf8'), touchesSource);
}

function checkHistory(): readonly string[] {
  const beginning = beginningOfRule();
  if (beginning === undefined) {
    stdout.write('commits: NOT RUN, since this folder has no history; clone the project with git\n');
    return [];
  }
  // A merge has no message of its own to check.
  const hashes = git('log', '--no-merges', '--format=%H', `${beginning}..HEAD`).split('\n').filter(Boolean);
  stdout.write(`commits: ${hashes.length} since ${beginning.slice(0, 10)}\n`);
  return hashes.flatMap((hash) => {
    const touchesSource = git('diff-tree', '--no-commit-id', '--name-only', '-r', hash, '--', 'src').trim() !== '';
    return messageFaults(git('log', '-1', '--format=%B', hash), touchesSource).map(
      (fault) => `${hash.slice(0, 10)} ${fault}`,
    );
  });
}

/** The commit that brought this file. Undefined in a copy of the sources without git's history. */
function beginningOfRule(): string | undefined {
  try {
    return git('log', '--diff-filter=A', '--format=%H', '--', ownPath).trim().split('\n').at(-1) || undefined;
  } catch {
    return undefined;
  }
}

const faults = argv[2] === undefined ? checkHistory() : checkStaged(argv[2]);
for (const fault of faults) stdout.write(`${fault}\n`);
exit(faults.length === 0 ? 0 : 1);

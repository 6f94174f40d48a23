import { homedir } from 'node:os';
import { join } from 'node:path';
import { exitCodes, ProgramError } from './program-error.ts';

/**
 * A user's files are kept here if they take long to make and are safe to lose. Throws a
 * `ProgramError` if there is no home folder: a container may run without HOME, as a user no passwd
 * file names. No folder in /tmp instead: the files in it are run, and others could put theirs there
 * first.
 */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  return join(env['XDG_CACHE_HOME'] || join(homeFolder(), '.cache'), 'tidemark');
}

function homeFolder(): string {
  let home = '';
  try {
    home = homedir();
  } catch {
    // Node's own words: "A system error occurred: uv_os_homedir returned ENOENT".
  }
  if (home !== '') return home;
  throw new ProgramError(
    'this user has no home folder, so there is no place for the parts that are kept between runs',
    {
      code: 'NO_HOME',
      exitCode: exitCodes.config,
      fix: 'Set XDG_CACHE_HOME to a folder that this user alone may write to.',
    },
  );
}

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitCodes, ProgramError, sentenceOf } from './program-error.ts';

/**
 * A new folder for this process alone, to be removed by it; `prefix` begins its name. Rejects with
 * a `ProgramError` if none can be made.
 */
export function makeTemporaryFolder(prefix: string): Promise<string> {
  const parent = tmpdir();
  return mkdtemp(join(parent, prefix)).catch((error: unknown) => {
    throw new ProgramError(`no folder can be made in ${parent}: ${sentenceOf(error)}`, {
      code: 'TEMPORARY_FOLDER',
      exitCode: exitCodes.config,
      fix: 'Set TMPDIR to a folder that this user may write to.',
      cause: error,
    });
  });
}

import { exitCodes, ProgramError } from '../../runtime/program-error.ts';

/** The error for a line that can't be carried out as written. `fix`: the next step. */
export function usage(message: string, fix?: string): ProgramError {
  return new ProgramError(message, { code: 'USAGE', exitCode: exitCodes.usage, ...(fix !== undefined && { fix }) });
}

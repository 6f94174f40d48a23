import { exitCodes, ProgramError } from '../../runtime/program-error.ts';

/**
 * A part that the machine has to provide is missing. The message is one sentence: the missing part,
 * and how to get it. Trying again helps only after that. `demo` goes on without the part; a test
 * fails with the sentence.
 */
export class MissingPartError extends ProgramError {
  readonly part: 'postgres' | 'kafka';

  constructor(part: 'postgres' | 'kafka', sentence: string, options?: { readonly cause: unknown }) {
    super(sentence, { code: 'MISSING_PART', exitCode: exitCodes.unavailable, ...options });
    this.name = 'MissingPartError';
    this.part = part;
  }
}

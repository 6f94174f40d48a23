/**
 * Something that the machine would have to bring is not there. The message is one sentence: what is missing, and what mends it.
 * Trying again helps only after that. `demo` goes on without the part; a test fails with the sentence.
 */
export class MissingPartError extends Error {
  readonly code = 'MISSING_PART';
  readonly retryable = false;
  readonly part: 'postgres' | 'kafka';

  constructor(part: 'postgres' | 'kafka', sentence: string, options?: { readonly cause: unknown }) {
    super(sentence, options);
    this.name = 'MissingPartError';
    this.part = part;
  }
}

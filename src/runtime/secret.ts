import { inspect } from 'node:util';

const masked = '[redacted]';

/**
 * A value that never prints: not by `String`, JSON, `console`,
 * template strings or an error that holds it.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Call it where the bytes leave for their destination, and only there. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return masked;
  }

  toJSON(): string {
    return masked;
  }

  [inspect.custom](): string {
    return masked;
  }
}

/** What a tool did. */
export interface ToolAnswer {
  /**
   * Short, and complete enough for a client that shows its model nothing else. Each is shown as one
   * line: a line break in the platform's words begins no other. Undefined: no line.
   */
  readonly lines: readonly (string | undefined)[];
  readonly data: Readonly<Record<string, unknown>>;
}

/** The tool did not do its work, and nothing was sent because of it. */
export class ToolError extends Error {
  readonly code: string;
  readonly retryable: boolean;

  constructor(code: string, message: string, retryable = false) {
    super(message);
    this.name = 'ToolError';
    this.code = code;
    this.retryable = retryable;
  }
}

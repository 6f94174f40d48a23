/**
 * Exit codes of sysexits.h, so that a script can tell a wrong call from a wrong configuration from a part that is down. `unresolved`: whether it took effect is not
 * known yet, ask again. `denied`: not with this token.
 */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 64,
  unavailable: 69,
  software: 70,
  unresolved: 75,
  denied: 77,
  config: 78,
} as const;

export interface CliErrorDetails {
  /** Short and stable, for scripts. */
  readonly code: string;
  /** What to do about it: one sentence, or several lines. */
  readonly mend?: string;
  /** One of `exitCodes`; 1 when left out. */
  readonly exitCode?: number;
  readonly cause?: unknown;
}

/** A command cannot do what was asked. The message is one sentence for people; nothing else is shown of it but `mend`. */
export class CliError extends Error {
  readonly retryable = false;
  readonly code: string;
  readonly mend: string | undefined;
  readonly exitCode: number;

  constructor(message: string, details: CliErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'CliError';
    this.code = details.code;
    this.mend = details.mend;
    this.exitCode = details.exitCode ?? exitCodes.failed;
  }
}

import { sqlstates, sqlstateWords } from './sqlstate-words.ts';

/**
 * Exit codes from sysexits.h, so a script can distinguish a wrong call, a wrong configuration and a
 * part that is down. `unresolved`: whether it took effect is not known yet, ask again. `denied`:
 * not with this token.
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

interface ProgramErrorDetails {
  /** Short and stable, for scripts. */
  readonly code: string;
  /** The remedy: one sentence, or several lines. */
  readonly fix?: string;
  /** One of `exitCodes`; 1 when left out. */
  readonly exitCode?: number;
  readonly cause?: unknown;
}

/**
 * A command cannot do the requested work. The message is one sentence for people; only `fix` is
 * shown in addition to it.
 */
export class ProgramError extends Error {
  readonly retryable = false;
  readonly code: string;
  readonly fix: string | undefined;
  readonly exitCode: number;

  constructor(message: string, details: ProgramErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'ProgramError';
    this.code = details.code;
    this.fix = details.fix;
    this.exitCode = details.exitCode ?? exitCodes.failed;
  }
}

/**
 * For people, if a server could not be bound because its port is taken; any other error as it is.
 * `setting` names the port.
 */
export function portFault(
  error: unknown,
  { host, port, setting }: { readonly host: string; readonly port: number; readonly setting: string },
) {
  if (codeOf(error) !== 'EADDRINUSE') return error;
  return new ProgramError(`port ${port} of ${host} is in use by another program, or another Tidemark`, {
    code: 'PORT_TAKEN',
    // Not a wrong setting: the port may be free in a moment, so systemd starts the service again.
    exitCode: exitCodes.unavailable,
    fix: `Set ${setting} to a port that is free (0 takes any), or stop the program that uses this one.`,
    cause: error,
  });
}

/**
 * Shows people an error that ended a command: one sentence and the remedy. The stack comes only
 * when TIDEMARK_LOG_LEVEL is `debug` or `trace`. `name` begins the sentence. Returns the exit code.
 */
export function reportError(
  io: { readonly stderr: { write(text: string): unknown }; readonly env: Readonly<Record<string, string | undefined>> },
  error: unknown,
  name = 'tidemark:',
): number {
  const wantsStack = /^(debug|trace)$/i.test(io.env['TIDEMARK_LOG_LEVEL'] ?? '');
  // The platform's own words may be in it, and a terminal obeys control characters.
  io.stderr.write(`${name} ${sentenceOf(error).replaceAll(/\p{Cc}/gu, '?')}\n`);
  const fix = error instanceof ProgramError ? error.fix : fixOf(error, wantsStack);
  if (fix !== undefined) io.stderr.write(`${fix.replace(/^/gm, '  ')}\n`);
  if (wantsStack && error instanceof Error) io.stderr.write(`${stackOf(error)}\n`);
  if (error instanceof ProgramError) return error.exitCode;
  if (codeOf(error) === 'SCHEMA_NEWER') return exitCodes.config;
  return isKnownByCode(error) ? exitCodes.unavailable : exitCodes.failed;
}

/**
 * An error's `code`, or its first cause's. Node hides a failed connection's reason in an
 * AggregateError, undici in `cause`.
 */
function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return undefined;
}

/** A fault in the network, a server or a file, and its code says everything. */
export function isKnownByCode(error: unknown): boolean {
  const code = codeOf(error) ?? '';
  return code in sentences || code in sqlstates;
}

/** No connection came about, so not a byte of a request was sent. */
export function isUnconnected(error: unknown): boolean {
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(codeOf(error) ?? '');
}

const sentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the name server does not answer',
  ETIMEDOUT: 'the connection timed out',
  ECONNRESET: 'the other side cut the connection',
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EADDRINUSE: 'the port is in use by another program',
};

function wordsOf(code: string): string | undefined {
  return sentences[code] ?? sqlstateWords(code);
}

/**
 * One line about an error we did not make ourselves. Never empty: an AggregateError has no message
 * itself.
 */
export function sentenceOf(error: unknown): string {
  if (error instanceof ProgramError) return error.message;
  const code = codeOf(error);
  const known = code === undefined ? undefined : wordsOf(code);
  const own = firstLine(error instanceof Error ? ownMessage(error) : String(error));
  if (known === undefined) return own === '' ? `failed (${code ?? 'no reason given'})` : own;
  return own === '' ? known : `${known}: ${own}`;
}

/**
 * `fetch` gives "fetch failed" for everything and keeps the reason in the cause; drizzle gives the
 * whole statement.
 */
function ownMessage(error: Error): string {
  if ('query' in error && error.cause instanceof Error) return error.cause.message;
  return error.message === 'fetch failed' && error.cause instanceof Error ? error.cause.message : error.message;
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.slice(0, 500) ?? '';
}

function fixOf(error: unknown, wantsStack: boolean): string | undefined {
  if (error instanceof Error && 'fix' in error && typeof error.fix === 'string') return error.fix;
  const code = codeOf(error);
  if (code !== undefined && wordsOf(code) !== undefined) return 'Run `tidemark doctor` to see which part it is.';
  return wantsStack ? undefined : 'Run it again with TIDEMARK_LOG_LEVEL=debug to see where it happened.';
}

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stackOf(error.cause)}` : '';
  return `${error.stack ?? error.message}${cause}`;
}

/** The error for a line that can't be carried out as written. `fix`: the next step. */
export function usage(message: string, fix?: string): ProgramError {
  return new ProgramError(message, { code: 'USAGE', exitCode: exitCodes.usage, ...(fix !== undefined && { fix }) });
}

import { createRequire } from 'node:module';
import pino, { type DestinationStream, type Logger as PinoLogger } from 'pino';
import { present } from '../domain/present.ts';
import { isKnownByCode, ProgramError } from '../runtime/program-error.ts';
import type { Secret } from '../runtime/secret.ts';
import { escapeControls, escapeTwice } from './escape-controls.ts';

/**
 * Structured logging: one line per state change, not per event. Field names: `stream`, `orderId`,
 * `accountId`, `commandId`, `err`.
 */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child'>;

interface LogDeps {
  /** The lines go here. Written synchronously, so the last line before a crash is there. */
  readonly destination: DestinationStream;
}

export interface LoggerOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  readonly version: string;
  /** True: one readable line for people instead of JSON. */
  readonly pretty: boolean;
  /** In a pretty line. */
  readonly colour?: boolean;
  /** Values that must never be written, in any field or message. */
  readonly secrets: readonly Secret[];
}

/**
 * Fields with these names are never logged. The first net is `Secret`; this is for values from
 * elsewhere, such as headers.
 */
const neverLogged = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'access_token',
  'refresh_token',
  'client_secret',
];
const redactPaths = neverLogged.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/**
 * A shorter value is so common that replacing it would spoil the log rather than save the secret.
 */
const shortestSecret = 6;

/**
 * A process's log: JSON lines with `time` (ISO 8601), `level` as a word, `service`, `version`,
 * `msg`, and errors under `err`. There are three nets against secrets. Values in class `Secret`
 * print as `[redacted]`, fields with revealing names are redacted, and the known values are
 * replaced in the finished line.
 */
export function createLogger(deps: LogDeps, options: LoggerOptions): Logger {
  const destination = options.pretty ? prettyDestination(deps.destination, options.colour === true) : deps.destination;
  // A pretty line shows the strings themselves.
  const cleaned = options.pretty ? escapeTwice : escapeControls;
  const texts = options.secrets.flatMap(textsOf).filter((text) => text.length >= shortestSecret);
  return pino(
    {
      level: options.level,
      base: { service: 'tidemark', version: options.version },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      redact: { paths: redactPaths, censor: '[redacted]' },
      hooks: { streamWrite: (line: string) => cleaned(withoutSecrets(line, texts)) },
    },
    destination,
  );
}

/**
 * A secret as it may stand in a line: as it is, as JSON writes it, and for an address only its
 * password, encoded or not.
 */
function textsOf(secret: Secret): string[] {
  const value = secret.reveal();
  const encoded = URL.parse(value)?.password ?? '';
  return [...new Set([value, JSON.stringify(value).slice(1, -1), encoded, decoded(encoded)])];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function withoutSecrets(line: string, texts: readonly string[]): string {
  let clean = line;
  for (const text of texts) {
    if (clean.includes(text)) clean = clean.replaceAll(text, '[redacted]');
  }
  return clean;
}

interface ErrorDescription {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly retryable?: boolean;
  readonly fix?: string;
  readonly stack?: string;
  readonly cause?: ErrorDescription;
}

const deepest = 5;

/**
 * An error for the log: type, message, code, stack and causes. Every other property stays out,
 * since clients' errors carry requests, headers and parameters with them. An error that names its
 * remedy has it instead of a stack, and so have its causes: a person can act on it. A fault in the
 * network or a server has no stack either. When a database is away, eight parts notice it within
 * the same instant, and the place in each says nothing.
 */
function describeError(error: unknown, depth = 0, withStack = !isKnownByCode(error)): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const code =
    'code' in error && (typeof error.code === 'string' || typeof error.code === 'number')
      ? String(error.code)
      : undefined;
  const retryable = 'retryable' in error && typeof error.retryable === 'boolean' ? error.retryable : undefined;
  const cause = error instanceof AggregateError ? (error.errors[0] ?? error.cause) : error.cause;
  const fix = error instanceof ProgramError ? error.fix : undefined;
  const showsStack = withStack && fix === undefined;
  return present({
    type: error.name,
    message: error.message,
    code,
    retryable,
    fix,
    stack: showsStack && !(error instanceof ProgramError) ? error.stack : undefined,
    cause: cause === undefined || depth >= deepest ? undefined : describeError(cause, depth + 1, showsStack),
  });
}

/**
 * Lines for people: time of day, level, message, then the fields. Only pino-pretty's formatter,
 * without its stream: the stream's buffer would lose the last lines before an exit. Loaded only
 * here, since production writes JSON.
 */
function prettyDestination(destination: DestinationStream, colorize: boolean): DestinationStream {
  const { prettyFactory }: typeof import('pino-pretty') = createRequire(import.meta.url)('pino-pretty');
  const format = prettyFactory({
    colorize,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'service,version',
    singleLine: true,
  });
  return { write: (line) => destination.write(format(line)) };
}

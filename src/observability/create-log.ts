import pino, { type DestinationStream } from 'pino';
import type { Secret } from '../runtime/secret.ts';
import { describeError } from './describe-error.ts';
import type { Log } from './log.ts';
import { prettyDestination } from './pretty-destination.ts';

export interface LogDeps {
  /** Where the lines go. Written to synchronously, so that the last line before a crash is there. */
  readonly destination: DestinationStream;
}

export interface LogOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  readonly version: string;
  /** True: one readable line for people instead of JSON. */
  readonly pretty: boolean;
  /** Values that must never be written, in any field or message. */
  readonly secrets: readonly Secret[];
}

/** Field names whose values are never logged. The first net is `Secret`; this is for values from elsewhere, such as headers. */
const neverLogged = ['authorization', 'cookie', 'password', 'secret', 'token', 'access_token', 'refresh_token', 'client_secret'];
const redactPaths = neverLogged.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/** Below this length a value is so common that replacing it would spoil the log rather than save the secret. */
const shortestSecret = 6;

/**
 * The log of a process: JSON lines with `time` (ISO 8601), `level` as a word, `service`, `version`, `msg`, and errors under `err`.
 * Three nets against secrets: values of class `Secret` print as `[redacted]`, fields with telling names are redacted, and the known
 * values are replaced in the finished line.
 */
export function createLog(deps: LogDeps, options: LogOptions): Log {
  const destination = options.pretty ? prettyDestination(deps.destination) : deps.destination;
  const texts = options.secrets.flatMap(textsOf).filter((text) => text.length >= shortestSecret);
  return pino(
    {
      level: options.level,
      base: { service: 'tidemark', version: options.version },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      redact: { paths: redactPaths, censor: '[redacted]' },
      ...(texts.length === 0 ? {} : { hooks: { streamWrite: (line: string) => withoutSecrets(line, texts) } }),
    },
    destination,
  );
}

/** A secret as it may stand in a line: as it is, as JSON writes it, and for an address its password alone, encoded or not. */
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

import type { Command } from 'commander';
import { exitCodes, isUnconnected, ProgramError } from '../../runtime/program-error.ts';
import { shaped } from '../io/flag-text.ts';
import type { CliIo } from '../io/io.ts';
import type { RestRequest } from './rest-client.ts';
import { type RestFlags, waitSeconds } from './rest-flags.ts';

const idempotencyKey = shaped(/^[\x21-\x7e]{1,128}$/, 'It must be 1 to 128 visible characters without blanks.');

/** The flags of a keyed verb. */
export interface KeyFlags extends RestFlags {
  readonly idempotencyKey?: string;
  readonly wait?: number;
}

export function addKeyFlags(command: Command): Command {
  const about = 'the same key sends once, until seven days after its result; when left out, one is made and printed';
  return command
    .option('--idempotency-key <key>', about, idempotencyKey)
    .option('--wait <seconds>', 'how long to wait for the final result, at most 30', waitSeconds(30));
}

/**
 * The key of a request. A new one is printed before anything is sent: with it the same line can be
 * given again after any failure, and nothing is sent twice.
 */
export function requestKey(io: CliIo, { idempotencyKey: given }: KeyFlags): string {
  if (given !== undefined) return given;
  const key = io.random.uuid();
  io.stderr.write(`idempotency key ${key}\n`);
  return key;
}

export function withKey(request: RestRequest, key: string, { wait }: KeyFlags): RestRequest {
  const prefer = wait === undefined ? undefined : { prefer: `wait=${wait}` };
  const headers = { ...request.headers, ...prefer, 'idempotency-key': key };
  return { ...request, headers, waitMs: (request.waitMs ?? 0) + (wait ?? 0) * 1000 };
}

/** After these errors the request may have been carried out. */
const unanswered: ReadonlySet<string> = new Set(['NO_ANSWER', 'NOT_TIDEMARK', 'FORWARD_UNANSWERED', 'ANSWER']);

/**
 * The error of a request with a key, with the next step. A problem means that nothing was
 * journaled, and stays as it is. Without an answer from the service, or from the instance it asked,
 * the request may have arrived, unless no connection came about: the error then names the one safe
 * line, and has its own exit code.
 */
export function namingKey(error: unknown, key: string): unknown {
  if (!(error instanceof ProgramError) || !unanswered.has(error.code)) return error;
  const { code, message, exitCode, fix = '' } = error;
  if (isUnconnected(error.cause))
    return new ProgramError(message, { code, exitCode, fix: `Nothing was sent. ${fix}`, cause: error });
  return new ProgramError(message, {
    code,
    exitCode: exitCodes.unresolved,
    fix: [
      'It is not known whether the service took it. Give the same line again with',
      `  --idempotency-key ${key}`,
      'which shows its result, and sends it only if it had not arrived.',
    ].join('\n'),
    cause: error,
  });
}

import { type Command, InvalidArgumentError } from 'commander';
import { idKinds } from '../http/path-ids.ts';
import { Secret } from '../runtime/secret.ts';
import { CliError, exitCodes } from './cli-error.ts';
import type { CliIo } from './io.ts';
import { readConfig } from './read-config.ts';
import { RestClient } from './rest-client.ts';

/** What every command that speaks REST takes. */
export interface RestFlags {
  readonly url?: string;
  readonly token?: string;
  readonly json?: true;
}

export const restExitCodes =
  'Exit codes: 0 done, 1 refused or without effect, 64 wrong call, 69 no answer or not now, 75 whether it took effect is not known yet, 77 not with this token.';

export function addRestFlags(command: Command): Command {
  return command
    .option('--url <address>', 'REST of the service; without it TIDEMARK_URL, which is http://127.0.0.1:8080 when left out')
    .option(
      '--token <token>',
      'bearer token; others on this machine can see it here, so rather set TIDEMARK_TOKEN or TIDEMARK_TOKEN_FILE',
    )
    .option('--json', 'print the answer as JSON');
}

export function restClient(io: CliIo, flags: RestFlags): RestClient {
  const config = readConfig(io);
  const token = flags.token === undefined ? config.token : new Secret(flags.token);
  const url = flags.url === undefined ? config.restUrl : checkedAddress(flags.url);
  return new RestClient(io, { url, ...(token !== undefined && { token }) });
}

function checkedAddress(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, '');
  throw new CliError(`${text} is not an address`, {
    code: 'USAGE',
    exitCode: exitCodes.usage,
    mend: 'Write it as http://127.0.0.1:8080',
  });
}

/** Part of a path: what people type is never taken for a path of its own. No id of the service is longer than that of an order. */
export function segment(text: string): string {
  if (idKinds.orderId.test(text) && text !== '.' && text !== '..') return encodeURIComponent(text);
  throw new CliError('an id has up to 128 visible characters, and this has not', { code: 'USAGE', exitCode: exitCodes.usage });
}

export function query(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

/** `Prefer: wait`, at most what the service takes. */
export function waitSeconds(text: string): number {
  if (/^([12]?\d|30)$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of seconds, at most 30.');
}

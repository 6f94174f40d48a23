import { type Command, InvalidArgumentError } from 'commander';
import { optionTable } from '../../config/option-table.ts';
import { exitCodes, isUnconnected, ProgramError } from '../../runtime/program-error.ts';
import { Secret } from '../../runtime/secret.ts';
import { askedHost, httpAddress } from '../../runtime/url-host.ts';
import { idKinds } from '../../service/rest/request-fields.ts';
import { clip, printable } from '../io/format-text.ts';
import type { CliIo } from '../io/io.ts';
import { readConfig } from '../io/read-config.ts';
import { type RestAnswer, RestClient, type RestRequest } from './rest-client.ts';

/** The flags of every command that speaks REST. */
export interface RestFlags {
  readonly url?: string;
  readonly token?: string;
  readonly json?: true;
}

export const restExitCodes =
  'Exit codes: 0 done, 1 refused or without effect, 64 wrong usage, 69 unavailable, 75 outcome not known yet, 77 not allowed with this token.';

export function addRestFlags(command: Command): Command {
  return addSignInFlags(command).option('--json', 'print the answer as JSON');
}

/** Where the service is, and who asks. */
export function addSignInFlags(command: Command): Command {
  return command
    .option(
      '--url <address>',
      'REST of the service; without it TIDEMARK_URL, or this machine at TIDEMARK_HTTP_PORT (8080)',
    )
    .option(
      '--token <token>',
      'bearer token; others on this machine can see it here, so rather set TIDEMARK_TOKEN or TIDEMARK_TOKEN_FILE',
    );
}

export function restClient(io: CliIo, flags: RestFlags): RestClient {
  const config = readConfig(io);
  const token = flags.token === undefined ? config.token : new Secret(flags.token);
  // 0 is any free port, which only the log names.
  const here = httpAddress(askedHost(config.httpHost), config.httpPort || optionTable.httpPort.fallback);
  const url = flags.url === undefined ? (config.restUrl ?? here) : checkedAddress(flags.url);
  return new RestClient(io, { url, ...(token !== undefined && { token }) });
}

function checkedAddress(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, '');
  throw new ProgramError(`${text} is not an address`, {
    code: 'USAGE',
    exitCode: exitCodes.usage,
    fix: 'Write it as http://127.0.0.1:8080',
  });
}

/**
 * Part of a path: typed text is never taken for several parts. No id of the
 * service is longer than that of an order.
 */
export function segment(text: string): string {
  if (idKinds.orderId.test(text) && text !== '.' && text !== '..') return encodeURIComponent(text);
  throw new ProgramError(
    `${JSON.stringify(clip(printable(text), 140))} is not an id: it has 1 to 128 visible characters, without blanks`,
    {
      code: 'USAGE',
      exitCode: exitCodes.usage,
      fix: 'Take the id as a list shows it: `tidemark orders ls`, or `tidemark command ls`.',
    },
  );
}

export function query(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

/** Of a list: at most so many. */
export function rowLimit(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 9999.');
}

/** `Prefer: wait`, at most what the service takes. */
export function waitSeconds(text: string): number {
  if (/^([12]?\d|30)$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of seconds, at most 30.');
}

/**
 * Refuses flags that would have no effect: a user who gives one relies on it. `names` as commander
 * has them, `ifRevision` for `--if-revision`.
 */
export function refuseFlags<Flags extends object>(
  flags: Flags,
  names: readonly (keyof Flags & string)[],
  why: string,
): void {
  const given = names.find((name) => flags[name] !== undefined);
  if (given === undefined) return;
  const option = `--${given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  throw new ProgramError(`${option} ${why}`, { code: 'USAGE', exitCode: exitCodes.usage });
}

/** Errors after which the request may have been carried out. */
const unanswered: ReadonlySet<string> = new Set(['NO_ANSWER', 'NOT_TIDEMARK', 'FORWARD_UNANSWERED']);

/**
 * The error of a request that carried the key, with the next step. A problem says that nothing was
 * journaled, and stays as it is. Where the service, or the instance that it asked, did not answer,
 * the request may have arrived, unless no connection came about: the error then names the one line
 * that is safe to give, and has its own exit code.
 */
export function withKey(error: unknown, key: string): unknown {
  if (!(error instanceof ProgramError) || !unanswered.has(error.code)) return error;
  if (isUnconnected(error.cause)) {
    const { code, exitCode, fix = '' } = error;
    return new ProgramError(error.message, { code, exitCode, fix: `Nothing was sent. ${fix}`, cause: error });
  }
  return new ProgramError(error.message, {
    code: error.code,
    exitCode: exitCodes.unresolved,
    fix: [
      'It is not known whether the service took it. Give the same line again with',
      `  --idempotency-key ${key}`,
      'which shows its outcome, and sends it only if it had not arrived.',
    ].join('\n'),
    cause: error,
  });
}

/**
 * Names each instance of which the answer has no accounts,
 * because it gave none. True: there is one.
 */
export function tellUnanswered(io: CliIo, { unanswered }: Readonly<Record<string, unknown>>): boolean {
  if (!Array.isArray(unanswered)) return false;
  for (const { instance, code } of unanswered as Readonly<Record<string, unknown>>[])
    io.stderr.write(
      `${printable(String(instance))} gave no answer (${printable(String(code))}): its accounts are not shown\n`,
    );
  return unanswered.length > 0;
}

/** The flags of `halt`, `resume` and `cancel --all`: the account, if it is one, and the reason. */
export interface OperatorFlags extends RestFlags {
  readonly account?: string;
  readonly reason: string;
}

export function addReasonFlag(command: Command): Command {
  return addRestFlags(command.requiredOption('--reason <text>', 'why: recorded in the audit trail', reasonText));
}

export function reasonText(text: string): string {
  if (text.trim() !== '' && text.length <= 500) return text.trim();
  throw new InvalidArgumentError('It must say why, in at most 500 characters.');
}

/** An act of an operator on one account, or on the service where no account is named. */
export function askOperator(
  io: CliIo,
  flags: RestFlags & { readonly account?: string; readonly reason?: string },
  verb: 'halt' | 'resume' | 'cancel-all',
  { also, ...sent }: Pick<RestRequest, 'headers' | 'waitMs'> & { readonly also?: object } = {},
): Promise<RestAnswer> {
  const whom = flags.account === undefined ? '' : `/accounts/${segment(flags.account)}`;
  return restClient(io, flags).ask({
    method: 'POST',
    path: `/v1${whom}/${verb}`,
    ...sent,
    body: { reason: flags.reason, ...also },
  });
}

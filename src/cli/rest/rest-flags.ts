import { type Command, InvalidArgumentError, Option } from 'commander';
import { optionTable } from '../../config/option-table.ts';
import { idWords, isPlatformId } from '../../domain/platform-id.ts';
import { securitiesStreams } from '../../domain/streams.ts';
import { usage } from '../../runtime/program-error.ts';
import { Secret } from '../../runtime/secret.ts';
import { askedHost, httpAddress } from '../../runtime/url-host.ts';
import { flagName, numberBetween } from '../io/flag-text.ts';
import { clip, printable } from '../io/format-text.ts';
import type { CliIo } from '../io/io.ts';
import { readConfig } from '../io/read-config.ts';
import { checkedAddress, RestClient } from './rest-client.ts';

/** The flags of every command over REST. */
export interface RestFlags {
  readonly url?: string;
  readonly token?: string;
  readonly json?: true;
}

export const restExitCodes =
  'Exit codes: 0 done, 1 refused or without effect, 64 wrong usage, 69 unavailable, 75 result not known yet, 77 not allowed with this token.';

export function addRestFlags(command: Command): Command {
  return addSignInFlags(command).option('--json', 'print the answer as JSON');
}

/** The service's address, and the caller. */
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
  // 0 is any free port, and only the log names it.
  const here = httpAddress(askedHost(config.httpHost), config.httpPort || optionTable.httpPort.fallback);
  const url = flags.url === undefined ? (config.restUrl ?? here) : checkedAddress(flags.url, 'http://127.0.0.1:8080');
  return new RestClient(io, { url, ...(token !== undefined && { token }) });
}

/**
 * Part of a path: typed text is never taken for several parts. No id is longer than an order's. A
 * dot segment would be taken out of the address before it is sent.
 */
export function segment(text: string): string {
  const quoted = JSON.stringify(clip(printable(text), 140));
  if (text === '.' || text === '..')
    throw usage(
      `no address can have the part ${quoted}`,
      `Find an order by its id: \`tidemark orders ls --find ${text}\`.`,
    );
  if (isPlatformId(text)) return encodeURIComponent(text);
  throw usage(
    `${quoted} is not an id: it has ${idWords}`,
    'Take the id as a list shows it: `tidemark orders ls`, or `tidemark command ls`.',
  );
}

export function query(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

/** Reads whole seconds, at most so many. */
export function waitSeconds(most: number): (text: string) => number {
  return numberBetween(0, most, `It must be a whole number of seconds, at most ${most}.`);
}

/**
 * Refuses flags without an effect: a user who gives one relies on it. `names` as commander has
 * them, `ifRevision` for `--if-revision`.
 */
export function refuseFlags<Flags extends object>(
  flags: Flags,
  names: readonly (keyof Flags & string)[],
  why: string,
): void {
  const given = names.find((name) => flags[name] !== undefined);
  if (given === undefined) return;
  throw usage(`--${flagName(given)} ${why}`);
}

/** Names each instance without an answer for its accounts. True: there is one. */
export function tellUnanswered(
  io: CliIo,
  unanswered: readonly { readonly instance: string; readonly code: string }[] = [],
): boolean {
  for (const { instance, code } of unanswered)
    io.stderr.write(`${printable(`${instance} gave no answer (${code})`)}: its accounts are not shown\n`);
  return unanswered.length > 0;
}

/** For equities and options: another venue has a stream of its own. */
export function streamOption(): Option {
  return new Option('--stream <name>', 'the stream of an order for equities or options').choices(securitiesStreams);
}

export function reasonText(text: string): string {
  if (text.trim() !== '' && text.length <= 500) return text.trim();
  throw new InvalidArgumentError('It must say why, in at most 500 characters.');
}

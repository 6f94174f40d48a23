import { Command } from 'commander';
import type { z } from 'zod';
import { exitCodes, ProgramError } from '../../runtime/program-error.ts';
import { printable } from '../io/format-text.ts';
import type { CliIo } from '../io/io.ts';
import { type Listed, readPages } from './read-pages.ts';
import { type RestAnswer, type RestClient, type RestRequest, understood } from './rest-client.ts';
import { addReasonFlag, addRestFlags, query, type RestFlags, restClient, rowLimit, segment } from './rest-flags.ts';

type Method = RestRequest['method'];
type RouteName = `${Method} /v1/${string}`;

/** An argument: as help writes it (`<id>`), what it is, and the grammar of its text. */
type Argument = readonly [name: string, about: string, read?: (text: string) => string | number];

/**
 * A verb that makes one request over REST. A test holds each to the table of routes: that its route
 * exists, and answers in this shape.
 */
export interface Verb<Shape extends z.ZodType, Flags extends RestFlags = RestFlags> {
  readonly name: string;
  readonly does: string;
  /** Below its help. */
  readonly help?: string;
  /**
   * As in the table of routes. The parameters of its path are `--account` and the arguments, in
   * this order. Of two, the second is that of one account, or of the thing that was named.
   */
  readonly route: RouteName | readonly [ofAll: RouteName, ofOne: RouteName];
  readonly takes?: readonly Argument[];
  /** What was typed for an argument, as the service names it. */
  readonly resolve?: (client: RestClient, typed: string) => Promise<string>;
  readonly flags?: (command: Command) => Command;
  /** It has `--reason`, and sends it. */
  readonly reasoned?: true;
  /** What flags and arguments say to REST. */
  readonly ask?: (
    flags: Flags,
    args: readonly unknown[],
  ) => {
    readonly query?: Readonly<Record<string, string | undefined>>;
    readonly body?: object;
    readonly waitMs?: number;
  };
  /** What the answer is about, for the case that it is not understood: `the fleet`. */
  readonly about: string;
  readonly answer: Shape;
  readonly text: (answer: z.infer<Shape>, flags: Flags, io: CliIo) => string;
  /** The part of the answer that `--json` prints. Left out: all, also fields of later versions. */
  readonly json?: (body: Readonly<Record<string, unknown>>) => unknown;
  /** After it was printed: what is said on stderr, and the exit code. */
  readonly end?: (io: CliIo, answer: z.infer<Shape>, flags: Flags) => void;
}

/** The verb as a command. */
export function verbCommand<Shape extends z.ZodType, Flags extends RestFlags>(
  io: CliIo,
  verb: Verb<Shape, Flags>,
): Command {
  const command = new Command(verb.name).description(verb.does);
  for (const [name, about, read = String] of verb.takes ?? []) command.argument(name, about, read);
  const flagged = verb.flags?.(command) ?? command;
  const called = verb.reasoned ? addReasonFlag(flagged) : addRestFlags(flagged);
  if (verb.help !== undefined) called.addHelpText('after', verb.help);
  return called.action(async (...given: unknown[]) => {
    // The last is the command itself: a flag that its parent has too is there.
    const flags = (given.at(-1) as Command).optsWithGlobals<Flags>();
    await runVerb(io, verb, given.slice(0, -2) as string[], flags);
  });
}

/** Asks, prints the answer, and sets the exit code. */
export async function runVerb<Shape extends z.ZodType, Flags extends RestFlags>(
  io: CliIo,
  verb: Verb<Shape, Flags>,
  args: readonly string[],
  flags: Flags,
): Promise<void> {
  const client = restClient(io, flags);
  const { resolve } = verb;
  const names = resolve === undefined ? args : await Promise.all(args.map((typed) => resolve(client, typed)));
  const { body } = expectDone(await client.ask(requestOf(verb, names, flags)));
  if (flags.json) io.stdout.write(`${JSON.stringify(verb.json?.(body) ?? body)}\n`);
  if (flags.json && verb.end === undefined) return;
  const answer = understood(verb.about, verb.answer, body);
  if (!flags.json) io.stdout.write(verb.text(answer, flags, io));
  verb.end?.(io, answer, flags);
}

function requestOf<Shape extends z.ZodType, Flags extends RestFlags>(
  { route, ask, reasoned }: Verb<Shape, Flags>,
  args: readonly string[],
  flags: Flags,
): RestRequest {
  const { account } = flags as { readonly account?: string };
  const named = [account, ...args].filter((each) => typeof each === 'string');
  const one = typeof route === 'string' ? route : route[named.length === 0 ? 0 : 1];
  const [method = '', pattern = ''] = one.split(' ');
  const { query: parameters = {}, body, waitMs } = ask?.(flags, args) ?? {};
  const path = pattern.replace(/\{\w+\}/g, () => segment(named.shift() ?? ''));
  const reason = reasoned ? { reason: (flags as { readonly reason?: string }).reason } : undefined;
  const sent = body === undefined ? reason : { ...reason, ...body };
  return {
    method: method as Method,
    path: `${path}${query(parameters)}`,
    ...(sent !== undefined && { body: sent }),
    ...(waitMs !== undefined && { waitMs }),
  };
}

export interface ListFlags extends RestFlags {
  readonly limit: number;
}

/** A verb that shows a list of REST: `--limit` rows of it, `--json` as an array. */
export interface ListVerb<Page extends z.ZodType<Listed>, Flags extends ListFlags = ListFlags>
  extends Pick<Verb<Page, Flags>, 'name' | 'does' | 'help' | 'flags' | 'about'> {
  readonly route: `GET /v1/${string}`;
  /** What the flags say to REST. */
  readonly filter: (flags: Flags) => Readonly<Record<string, string | undefined>>;
  readonly page: Page;
  readonly text: (rows: z.infer<Page>['items'], flags: Flags, io: CliIo) => string;
}

/** The list as a command. */
export function listCommand<Page extends z.ZodType<Listed>, Flags extends ListFlags>(
  io: CliIo,
  verb: ListVerb<Page, Flags>,
): Command {
  const command = new Command(verb.name).description(verb.does);
  addRestFlags((verb.flags?.(command) ?? command).option('--limit <n>', 'at most so many', rowLimit, 50));
  if (verb.help !== undefined) command.addHelpText('after', verb.help);
  return command.action((flags: Flags) => runList(io, verb, flags));
}

/** Reads, prints the rows, and says on stderr where there are more. */
export async function runList<Page extends z.ZodType<Listed>, Flags extends ListFlags>(
  io: CliIo,
  verb: ListVerb<Page, Flags>,
  flags: Flags,
): Promise<void> {
  const items = await readList(io, restClient(io, flags), verb, flags);
  io.stdout.write(flags.json ? `${JSON.stringify(items)}\n` : verb.text(items, flags, io));
}

/** The rows; where there are more, that is said on stderr. */
export async function readList<Page extends z.ZodType<Listed>, Flags extends ListFlags>(
  io: CliIo,
  client: RestClient,
  { about, route, filter, page }: ListVerb<Page, Flags>,
  flags: Flags,
): Promise<z.infer<Page>['items'][number][]> {
  const list = { about, page, path: route.slice(4), filter: filter(flags), most: flags.limit };
  const { items, more } = await readPages(client, list);
  if (more) io.stderr.write(`There are more: raise --limit (${flags.limit}).\n`);
  return items;
}

/**
 * Throws when the answer says that nothing was done yet because
 * a second principal has to approve it.
 */
export function expectDone(answer: RestAnswer): RestAnswer {
  const { approval } = answer.body;
  if (answer.status !== 202 || typeof approval !== 'object' || approval === null) return answer;
  const { approvalId, expiresAt } = approval as Readonly<Record<string, unknown>>;
  throw new ProgramError(
    `nothing was done yet: request ${printable(String(approvalId))} waits for a second principal, until ${printable(String(expiresAt))}`,
    {
      code: 'APPROVAL_NEEDED',
      exitCode: exitCodes.unresolved,
      fix: `Another principal runs \`tidemark approvals approve ${printable(String(approvalId))} --reason …\`.`,
    },
  );
}

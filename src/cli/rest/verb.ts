import { Command } from 'commander';
import type { z } from 'zod';
import { exitCodes, ProgramError } from '../../runtime/program-error.ts';
import { printable } from '../io/format-text.ts';
import { type CliIo, printJson } from '../io/io.ts';
import { addKeyFlags, namingKey, requestKey, withKey } from './request-key.ts';
import { type RestAnswer, type RestClient, type RestRequest, understood } from './rest-client.ts';
import { addRestFlags, query, type RestFlags, reasonText, restClient, segment } from './rest-flags.ts';

type Method = RestRequest['method'];
type RouteName = `${Method} /v1/${string}`;

/** An argument: its name in help (`<id>`), its meaning, and the grammar of its text. */
type Argument = readonly [name: string, about: string, read?: (text: string) => string | number | readonly string[]];

/** A verb's words. */
interface Spoken {
  readonly name: string;
  readonly does: string;
  /** Below its help. */
  readonly help?: string;
  readonly takes?: readonly Argument[];
  readonly flags?: (command: Command) => Command;
  /** It has `--reason`, and sends it. */
  readonly reasoned?: true;
  /** It sends to the platform, so it has a key: `--idempotency-key` and `--wait`. */
  readonly keyed?: true;
}

/** A verb's request. */
export interface AskingVerb<Shape extends z.ZodType, Flags extends RestFlags> extends Spoken {
  /**
   * As in the table of routes. The path's parameters are the last among `--account` and the
   * arguments. The second route is for one account, or for the named thing.
   */
  readonly route: RouteName | readonly [RouteName, RouteName];
  /** Takes the second route for another reason. */
  readonly isSecond?: (flags: Flags) => boolean;
  /** Flags and arguments as parts of the request. */
  readonly ask?: (
    flags: Flags,
    args: readonly unknown[],
  ) => {
    readonly query?: Readonly<Record<string, string | undefined>>;
    readonly body?: object;
    readonly headers?: Readonly<Record<string, string>>;
    readonly waitMs?: number;
  };
  /** The subject of the answer, if it is not understood: `the fleet`. */
  readonly about: string;
  readonly answer: Shape;
}

/**
 * A verb with one request over REST. A test holds each to the table of routes: its route exists,
 * and answers in this shape.
 */
export interface Verb<Shape extends z.ZodType, Flags extends RestFlags = RestFlags, Shown = z.infer<Shape>>
  extends AskingVerb<Shape, Flags> {
  /** An argument as the path has it, one part or several. */
  readonly resolve?: (client: RestClient, typed: string, flags: Flags) => Promise<string | readonly string[]>;
  /** What is shown, if that needs further requests. */
  readonly complete?: (answer: z.infer<Shape>, run: VerbRun<Flags>) => Promise<Shown>;
  readonly text: (shown: Shown, flags: Flags, io: CliIo, sent: Sent) => string;
  /** What `--json` prints. Left out: the whole answer, also fields of later versions. */
  readonly json?: (body: Readonly<Record<string, unknown>>, shown: Shown | undefined) => unknown;
  /** After it was printed: what is said on stderr, and the exit code. */
  readonly end?: (io: CliIo, shown: Shown, flags: Flags, sent: Sent) => void;
}

/** One run, for its further requests. */
export interface VerbRun<Flags> {
  readonly io: CliIo;
  readonly client: RestClient;
  readonly flags: Flags;
  readonly args: readonly string[];
}

/** How it was answered: with 202 it is not over. */
export interface Sent {
  readonly isOpen: boolean;
  /** It was sent before with the same key. */
  readonly replayed: boolean;
  /** Of a keyed verb. */
  readonly key: string | undefined;
}

type Runner<Flags> = (args: readonly string[], flags: Flags) => Promise<void>;

/**
 * The words of a verb as a command. `run`: this verb, or a choice between two with the same flags.
 */
export function commandOf<Flags extends RestFlags>(verb: Spoken, run: Runner<Flags>): Command {
  const command = new Command(verb.name).description(verb.does);
  for (const [name, about, read = String] of verb.takes ?? []) command.argument(name, about, read);
  const flagged = verb.flags?.(command) ?? command;
  if (verb.keyed) addKeyFlags(flagged);
  if (verb.reasoned) flagged.requiredOption('--reason <text>', 'why: recorded in the audit trail', reasonText);
  const called = addRestFlags(flagged);
  if (verb.help !== undefined) called.addHelpText('after', verb.help);
  return called.action((...given: unknown[]) =>
    // The last is the command itself, with the flags it shares with its parent.
    run(
      given
        .slice(0, -2)
        .flat()
        .filter((each) => each !== undefined) as string[],
      (given.at(-1) as Command).optsWithGlobals<Flags>(),
    ),
  );
}

/** The verb as a command. */
export function verbCommand<Shape extends z.ZodType, Flags extends RestFlags, Shown = z.infer<Shape>>(
  io: CliIo,
  verb: Verb<Shape, Flags, Shown>,
): Command {
  return commandOf<Flags>(verb, (args, flags) => runVerb(io, verb, args, flags));
}

/** Asks, prints the answer, and sets the exit code. */
export async function runVerb<Shape extends z.ZodType, Flags extends RestFlags, Shown = z.infer<Shape>>(
  io: CliIo,
  verb: Verb<Shape, Flags, Shown>,
  typed: readonly string[],
  flags: Flags,
): Promise<void> {
  const client = restClient(io, flags);
  const { resolve } = verb;
  const args =
    resolve === undefined ? typed : (await Promise.all(typed.map((each) => resolve(client, each, flags)))).flat();
  const request = requestOf(verb, args, flags);
  const run = { io, client, flags, args };
  if (!verb.keyed) return show(run, verb, await client.ask(request));
  const key = requestKey(io, flags);
  try {
    await show(run, verb, await client.ask(withKey(request, key, flags)), key);
  } catch (error) {
    throw namingKey(error, key);
  }
}

async function show<Shape extends z.ZodType, Flags extends RestFlags, Shown>(
  run: VerbRun<Flags>,
  verb: Verb<Shape, Flags, Shown>,
  answered: RestAnswer,
  key?: string,
): Promise<void> {
  const { io, flags } = run;
  const { status, headers, body: given } = expectDone(answered);
  const sent = { isOpen: status === 202, replayed: headers.get('idempotent-replayed') === 'true', key };
  const body = key === undefined ? given : { ...given, idempotencyKey: key, replayed: sent.replayed };
  const asJson = (shown?: Shown) => printJson(io, verb.json?.(body, shown) ?? body);
  const { complete, end } = verb;
  const isWhole = complete === undefined;
  if (flags.json && isWhole) asJson();
  if (flags.json && isWhole && end === undefined) return;
  const answer = understood(verb.about, verb.answer, given);
  const shown = isWhole ? (answer as Shown) : await complete(answer, run);
  if (!flags.json) io.stdout.write(verb.text(shown, flags, io, sent));
  else if (!isWhole) asJson(shown);
  end?.(io, shown, flags, sent);
}

export function requestOf<Shape extends z.ZodType, Flags extends RestFlags>(
  { route, isSecond, ask, reasoned }: AskingVerb<Shape, Flags>,
  args: readonly string[],
  flags: Flags,
): RestRequest {
  const { account } = flags as { readonly account?: string };
  const named = [account, ...args].filter((each) => typeof each === 'string');
  const one = typeof route === 'string' ? route : route[(isSecond?.(flags) ?? named.length > 0) ? 1 : 0];
  const [method = '', pattern = ''] = one.split(' ');
  const { query: parameters = {}, body, headers, waitMs } = ask?.(flags, args) ?? {};
  const places = pattern.match(/\{\w+\}/g) ?? [];
  const ids = named.slice(named.length - places.length);
  const path = pattern.replace(/\{\w+\}/g, () => segment(ids.shift() ?? ''));
  const reason = reasoned ? { reason: (flags as { readonly reason?: string }).reason } : undefined;
  const sent = body === undefined ? reason : { ...body, ...reason };
  return { method: method as Method, path: `${path}${query(parameters)}`, body: sent, headers, waitMs };
}

/** Throws if nothing was done yet because a second principal has to approve it. */
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

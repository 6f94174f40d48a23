import { z } from 'zod';
import { commandFilters, queryFrom } from '../../contract/list-filters.ts';
import { type CommandAnswer, commandAnswer, commandPage } from '../../contract/rest-answers.ts';
import { present } from '../../domain/present.ts';
import { accountText } from '../../domain/streams.ts';
import { termsText } from '../../domain/terms-text.ts';
import { ageOf, printable, tableText } from '../io/format-text.ts';
import { addFilterFlags, type ListFlags, type ListVerb } from '../rest/list-verb.ts';
import type { RestClient } from '../rest/rest-client.ts';
import { orderOf } from './sent-command.ts';

interface CommandListFlags extends ListFlags {
  readonly unresolved?: true;
}

/** A command in the list; an unresolved one has its evidence, and the venue's id for its order. */
type Listed = CommandAnswer & { readonly venueOrderId?: string };

/** `command ls`: a table. With `--unresolved` a block for each, with the line to resolve it. */
export const commandLs: ListVerb<typeof commandPage, CommandListFlags, Listed> = {
  name: 'ls',
  does: 'Lists commands, the newest first; with --unresolved the oldest first, each with all that is known.',
  route: 'GET /v1/commands',
  flags: (command) => addFilterFlags(command, commandFilters),
  filter: (flags) => queryFrom(commandFilters, 'flag', { ...flags }),
  about: 'a command',
  page: commandPage,
  // Oldest first: the longest exposed one should be looked at first.
  complete: async (commands, { client, flags }) => {
    const shown: Listed[] = [];
    for (const command of flags.unresolved ? commands.toReversed() : [])
      shown.push(await withEvidence(client, command.commandId));
    return flags.unresolved ? shown : commands;
  },
  text: (commands, { unresolved }, io) => {
    const nowMs = io.clock.nowMs();
    if (!unresolved) return commandTable(commands, nowMs);
    if (commands.length === 0) return 'No command is unresolved.\n';
    return commands.map((command) => describeUnresolved(printableTexts(command), nowMs)).join('\n');
  },
};

/** Each text by itself: a line break in the platform's words would begin a line like our own. */
function printableTexts(command: Listed): Listed {
  return JSON.parse(JSON.stringify(command), (_name, value) => (typeof value === 'string' ? printable(value) : value));
}

const atVenue = z.object({ order: z.object({ venueOrderId: z.string().optional() }) });

async function withEvidence(client: RestClient, commandId: string): Promise<Listed> {
  const command = await client.read(`/v1/commands/${commandId}`, commandLs.about, commandAnswer);
  const { stream, orderId } = command;
  if (orderId === undefined) return command;
  const path = `/v1/orders/${stream}/${encodeURIComponent(orderId)}`;
  // A failed read of the order does not hide the command.
  const found = await client.read(path, 'an order', atVenue).catch(() => undefined);
  return present({ ...command, venueOrderId: found?.order.venueOrderId });
}

function commandTable(commands: readonly Listed[], nowMs: number): string {
  return tableText(
    commands,
    {
      AGE: ({ createdAt }) => ageOf(createdAt, nowMs),
      RESULT: resultText,
      KIND: 'kind',
      ACCOUNT: accountText,
      TERMS: ({ kind, terms }) => termsText(kind, terms),
      ORDER: orderOf,
      COMMAND: 'commandId',
    },
    'No commands.',
  );
}

/** With its result, and the doubt about it. */
function resultText({ result, presumedAbsent }: Pick<CommandAnswer, 'result' | 'presumedAbsent'>): string {
  return `${result}${presumedAbsent ? ', presumed absent' : ''}`;
}

/**
 * Everything a person on call needs for one unresolved command: age, terms, ids for the venue,
 * evidence, and the line to resolve it.
 */
function describeUnresolved(command: Listed, nowMs: number): string {
  const { kind, accountId, stream, commandId, createdAt, venueOrderId } = command;
  const atVenue = venueOrderId === undefined ? '' : `, at the venue ${venueOrderId}`;
  const lines = [
    `${resultText(command)}  ${kind}  ${accountId}  ${stream}  ${ageOf(createdAt, nowMs)} old`,
    `  command   ${commandId}`,
    `  terms     ${termsText(kind, command.terms)}`,
    `  reference ${command.attempts.map(({ attemptId }) => attemptId).join(', ') || '-'}`,
    `  order     ${orderOf(command) ?? 'none seen'}${atVenue}`,
    ...(command.callerRef === undefined ? [] : [`  caller    ${command.callerRef}`]),
    ...evidenceLines(command),
    `  resolve    ${resolveLine(command)}`,
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * The last answer, and how often complete reads missed it: the decision
 * depends on them. `command show` has the rest.
 */
function evidenceLines({ evidence = [], reason }: CommandAnswer): string[] {
  const last = new Map<string, { code: string; at: string; count: number }>();
  for (const { kind, code, at } of evidence) {
    if (kind === 'note') continue;
    last.set(`${kind} ${code}`, { code, at, count: (last.get(`${kind} ${code}`)?.count ?? 0) + 1 });
  }
  const known = [...last].map(([what, { at, count }]) => `${what}${count === 1 ? '' : ` ${count} times, last`} ${at}`);
  const why =
    reason === undefined
      ? []
      : [`${reason.message} (${reason.code}${reason.status === undefined ? '' : `, ${reason.status}`})`];
  const facts = [...why, ...known];
  return facts.map((fact, index) => `  ${index === 0 ? 'evidence ' : '         '} ${fact}`);
}

/**
 * The person chooses the result: the platform's support, the
 * venue, or the platform's own screen knows it.
 */
function resolveLine({ commandId, kind }: CommandAnswer): string {
  const never = kind === 'place' ? 'rejected' : 'rejected|moot';
  return `tidemark command resolve ${commandId} --result applied|${never} --reason "…"`;
}
